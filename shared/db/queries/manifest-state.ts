import { sql } from '../sql.ts';

/** What a manifest is doing, in one word; the first that applies, in this order. */
export const manifestStates = [
  'retiring',
  'dead_lettered',
  'quarantined',
  'running',
  'retrying',
  'queued',
  'disabled',
  'manual',
  'orphaned',
  'dormant',
  'waiting',
  'done',
  'scheduled',
] as const;
export type ManifestState = (typeof manifestStates)[number];

/**
 * The state of the manifest `m`. What waits for a person comes before what happens now, and that before what the schedule
 * promises: a disabled manifest that somebody triggered is running, one whose dead letter is open needs help all the same.
 * A retiring one still has its last run, so it would never be seen as such if running came first.
 * Each probe reads a partial index over what is unfinished, never the history. The seemingly idle `is not null` is what lets
 * Postgres use that index also when it turns a probe into a hash: without it, a page took 400 ms beside 300,000 executions.
 */
export const manifestState = sql`case
  when m.retiring_at is not null then 'retiring'
  when exists (
    select from waybill.dead_letter d where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention') then 'dead_lettered'
  when m.quarantine_error is not null then 'quarantined'
  when exists (
    select from waybill.execution e
    where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null
      and (e.state <> 'pending' or e.started_at is not null)) then 'running'
  when exists (
    select from waybill.work_queue w
    where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.execution_id is null and w.lane = 'retry') then 'retrying'
  when exists (
    select from waybill.work_queue w where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.execution_id is null)
    or exists (
    select from waybill.execution e where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null) then 'queued'
  when not m.is_enabled then 'disabled'
  when m.schedule_type = 'none' then 'manual'
  when m.schedule_type in ('dependent', 'dormant_dependent') and not exists (
    select from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id and p.deleted_at is null where d.child_id = m.id) then 'orphaned'
  when m.schedule_type = 'dormant_dependent' then 'dormant'
  when m.schedule_type = 'dependent' then 'waiting'
  when m.schedule_type = 'once' and m.next_occurrence_at is null then 'done'
  else 'scheduled'
end`;
