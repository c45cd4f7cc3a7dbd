import { planSteps } from '../db/queries/plan-steps.ts';
import { type Sql, sql } from '../db/sql.ts';
import { type ManifestRow, recordset } from './sync-rows.ts';

export interface Differing {
  owner: string;
  rows: ManifestRow[];
  /** The rows are changes to single settings: what they leave out stays as it is, and what the owner has stated is not touched. */
  isPartial?: boolean;
  /** They are switched, and nothing else about them changes: that does not end a quarantine, nor move the occurrence that was refused. */
  isSwitch?: boolean;
}

/** What is shown of a change, by the names that people use. */
const settingsOf = (row: Sql, group: Sql, steps: Sql) => sql`jsonb_build_object(
  'workflow', ${row}.workflow_name, 'steps', ${steps}, 'input', ${row}.input, 'group', ${group}, 'pool', ${row}.pool, 'mode', ${row}.dependency_mode,
  'schedule', jsonb_strip_nulls(jsonb_build_object(
    'type', ${row}.schedule_type, 'cron', ${row}.cron_expression, 'timeZone', ${row}.time_zone, 'intervalSeconds', ${row}.interval_seconds,
    'anchor', ${row}.anchor, 'runAt', ${row}.run_at)),
  'misfire', jsonb_strip_nulls(jsonb_build_object('policy', ${row}.misfire_policy, 'limit', ${row}.misfire_limit)),
  'misfireThresholdSeconds', ${row}.misfire_threshold_seconds, 'exclude', ${row}.exclusions, 'jitterSeconds', ${row}.jitter_seconds,
  'maxAttempts', ${row}.max_attempts,
  'backoff', jsonb_build_object('initialSeconds', ${row}.backoff_initial_seconds, 'factor', ${row}.backoff_factor,
                                'maxSeconds', ${row}.backoff_max_seconds, 'jitter', ${row}.backoff_jitter),
  'timeoutSeconds', ${row}.timeout_seconds, 'priority', ${row}.priority, 'expectWithinSeconds', ${row}.expect_within_seconds,
  'isEnabled', ${row}.is_enabled, 'quarantine', ${row}.quarantine_error, 'retiring', ${row}.retiring_at is not null)`;

/** The columns that are compared, beside the schedule; a changed group shows in its id. */
const compared = (row: Sql) => sql`(
  ${row}.group_id, ${row}.workflow_name, ${row}.input, ${row}.pool, ${row}.dependency_mode, ${row}.misfire_policy, ${row}.misfire_limit,
  ${row}.misfire_threshold_seconds, ${row}.exclusions, ${row}.jitter_seconds, ${row}.max_attempts, ${row}.backoff_initial_seconds,
  ${row}.backoff_factor, ${row}.backoff_max_seconds, ${row}.backoff_jitter, ${row}.timeout_seconds, ${row}.priority,
  ${row}.expect_within_seconds, ${row}.is_enabled, ${row}.stated)`;

/** What was stated before, is not any more, and is still as it was stated: it goes back to its default. What somebody set since stays. */
const takenBack = sql`(
  select coalesce(array_agg(s.key), '{}') from jsonb_each(m.stated) s where not d.stated ? s.key and s.value = to_jsonb(m) -> s.key)`;

/**
 * The rows that differ, as the table `changed` of a statement that begins with this: stated values over present ones. A changed schedule is computed anew from now. One that
 * is switched on keeps its rhythm and goes on from now, so time spent disabled is never a misfire; a once keeps its instant.
 */
export function differing({ owner, rows, isPartial = false, isSwitch = false }: Differing): Sql {
  return sql`
    declared as materialized (
      select m.id as target_id, d.*, g.id as group_id, case when ${isPartial}::boolean then coalesce(d.resets, '{}') else ${takenBack} end as fallen
        from ${recordset(rows)}
        -- One probe of an index per row, for which 'offset 0' stands. The planner takes a recordset for a hundred rows, and a table that was just filled for empty: left to
        -- itself, it compares every row with every other, which for 5,000 is seconds instead of a tenth of one.
       cross join lateral (
         select * from waybill.manifest m where m.external_id = d.external_id and m.deleted_at is null and m.owner = ${owner} offset 0) m
        left join lateral (select g.id from waybill.manifest_group g where g.name = d.group_name offset 0) g on true
    ), merged as materialized (
      select d.target_id, d.external_id, d.group_name, d.group_id, d.workflow_name, d.steps, d.input_text::jsonb as input, d.schedule_type, d.cron_expression,
             d.time_zone, d.interval_seconds, d.anchor, d.run_at, d.dependency_mode, d.next_occurrence_at as first_occurrence_at,
             case when ${isPartial}::boolean then m.stated else d.stated end as stated, case when ${isSwitch}::boolean then m.quarantine_error end as quarantine_error,
             null::timestamptz as retiring_at,
             case when 'pool' = any(fallen) then null else coalesce(d.pool, m.pool) end as pool,
             -- A once runs however late, and nothing excludes it: what another schedule left behind does not apply.
             case when d.misfire_policy is null and (d.schedule_type = 'once' or 'misfire_policy' = any(fallen)) then 'fire_once'
                  else coalesce(d.misfire_policy, m.misfire_policy) end as misfire_policy,
             case when d.misfire_policy is not null then d.misfire_limit
                  when d.schedule_type = 'once' or 'misfire_policy' = any(fallen) then null else m.misfire_limit end as misfire_limit,
             case when d.exclusions is null and (d.schedule_type = 'once' or 'exclusions' = any(fallen)) then '[]'
                  else coalesce(d.exclusions, m.exclusions) end as exclusions,
             case when 'misfire_threshold_seconds' = any(fallen) then 60
                  else coalesce(d.misfire_threshold_seconds, m.misfire_threshold_seconds) end as misfire_threshold_seconds,
             case when 'jitter_seconds' = any(fallen) then 0 else coalesce(d.jitter_seconds, m.jitter_seconds) end as jitter_seconds,
             case when 'max_attempts' = any(fallen) then 3 else coalesce(d.max_attempts, m.max_attempts) end as max_attempts,
             case when 'backoff_initial_seconds' = any(fallen) then 10
                  else coalesce(d.backoff_initial_seconds, m.backoff_initial_seconds) end as backoff_initial_seconds,
             case when 'backoff_factor' = any(fallen) then 2 else coalesce(d.backoff_factor, m.backoff_factor) end as backoff_factor,
             case when 'backoff_max_seconds' = any(fallen) then 3600 else coalesce(d.backoff_max_seconds, m.backoff_max_seconds) end as backoff_max_seconds,
             case when 'backoff_jitter' = any(fallen) then 0.2 else coalesce(d.backoff_jitter, m.backoff_jitter) end as backoff_jitter,
             case when 'timeout_seconds' = any(fallen) then null else coalesce(d.timeout_seconds, m.timeout_seconds) end as timeout_seconds,
             case when 'priority' = any(fallen) then 0::smallint else coalesce(d.priority, m.priority) end as priority,
             case when 'expect_within_seconds' = any(fallen) then null
                  else coalesce(d.expect_within_seconds, m.expect_within_seconds) end as expect_within_seconds,
             case when 'is_enabled' = any(fallen) then true else coalesce(d.is_enabled, m.is_enabled) end as is_enabled
        from declared d join waybill.manifest m on m.id = d.target_id
    ), target as (
      select t.*, o.is_rescheduled, o.is_switched_on,
             case when t.quarantine_error is not null then m.next_occurrence_at
                  when o.is_rescheduled or (o.is_switched_on and t.schedule_type = 'cron') then t.first_occurrence_at
                  when o.is_switched_on and t.schedule_type = 'interval' then waybill.next_on_grid(m.next_occurrence_at, m.interval_seconds)
                  else m.next_occurrence_at end as next_occurrence_at
        from merged t join waybill.manifest m on m.id = t.target_id
       cross join lateral (
         select (t.schedule_type, t.cron_expression, t.time_zone, t.interval_seconds, t.anchor, t.run_at)
                  is distinct from (m.schedule_type, m.cron_expression, m.time_zone, m.interval_seconds, m.anchor, m.run_at) as is_rescheduled,
                (t.is_enabled and not m.is_enabled) or m.retiring_at is not null as is_switched_on) o
    ), changed as (
      select t.*, shown.fields, shown.before, shown.after
        from target t join waybill.manifest m on m.id = t.target_id
       cross join lateral (select case when t.steps is not null then ${planSteps(sql`m.id`)} end as steps offset 0) present
       cross join lateral (
         select coalesce(array_agg(a.key order by a.key), '{stated}') as fields,
                coalesce(jsonb_object_agg(a.key, b.before -> a.key) filter (where a.key is not null), '{}') as before,
                coalesce(jsonb_object_agg(a.key, a.value) filter (where a.key is not null), '{}') as after
           -- Without 'offset 0' both would be built anew for every field.
           from (select ${settingsOf(sql`m`, sql`(select g.name from waybill.manifest_group g where g.id = m.group_id)`, sql`present.steps`)} as before,
                        ${settingsOf(sql`t`, sql`t.group_name`, sql`t.steps`)} as after offset 0) b,
                jsonb_each(b.after) a
          where a.value is distinct from b.before -> a.key) shown
       where t.is_rescheduled or t.is_switched_on or m.quarantine_error is distinct from t.quarantine_error or t.steps is distinct from present.steps
          or ${compared(sql`t`)} is distinct from ${compared(sql`m`)}
    )`;
}
