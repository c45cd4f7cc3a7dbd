-- What is declared: groups, workflows, manifests, their edges and plan steps.
-- Rules that must never be broken are constraints here; their names are the sentences people see when one is.

-- The clock of every statement, in milliseconds: what is written can be read by JavaScript and compared again without loss. Tests and
-- the test kit move it with the transaction-local setting waybill.now; production never sets it, and the planner inlines the function.
create function waybill.now() returns timestamptz
  language sql stable parallel safe
  return coalesce(nullif(current_setting('waybill.now', true), '')::timestamptz, date_trunc('milliseconds', pg_catalog.now()));

-- How long after its occurrence a jittered manifest is due: never early, and the same for whoever computes it.
create function waybill.jitter(manifest_id bigint, occurrence_at timestamptz, jitter_seconds integer) returns interval
  language sql stable parallel safe
  return make_interval(secs => mod(
    hashint8extended(manifest_id, extract(epoch from occurrence_at)::bigint) & 9223372036854775807, jitter_seconds + 1));

-- The first instant after now of a rhythm that goes through an earlier one.
create function waybill.next_on_grid(occurrence_at timestamptz, interval_seconds integer) returns timestamptz
  language sql stable parallel safe
  return occurrence_at + make_interval(secs => interval_seconds * greatest(
    floor(extract(epoch from waybill.now() - occurrence_at) / interval_seconds) + 1, 0));

create type waybill.manifest_kind as enum ('job', 'plan');
create type waybill.schedule_type as enum ('none', 'cron', 'interval', 'once', 'dependent', 'dormant_dependent');
create type waybill.interval_anchor as enum ('occurrence', 'completion');
create type waybill.misfire_policy as enum ('fire_once', 'skip', 'fire_all');
create type waybill.dependency_mode as enum ('all', 'any');
create type waybill.skip_reason as enum (
  'overlap', 'misfire', 'excluded', 'group_disabled', 'dead_letter', 'not_ready', 'already_queued', 'running',
  'parent_disabled', 'orphaned', 'occurrence_taken', 'quarantined');

create table waybill.manifest_group (
  id              bigint generated always as identity primary key,
  name            text not null constraint group_name_is_unique unique
                  constraint group_name_is_1_to_200_characters check (length(name) between 1 and 200),
  priority        smallint not null default 0 constraint group_priority_is_0_to_31 check (priority between 0 and 31),
  max_active_jobs integer constraint group_capacity_is_positive_or_unlimited check (max_active_jobs > 0),
  is_enabled      boolean not null default true,
  created_at      timestamptz not null default waybill.now(),
  updated_at      timestamptz not null default waybill.now()
);

-- The name under which a group is measured. Each one is paid for as a metric, so the thirty oldest have their own and the rest share one.
create function waybill.metric_group(group_id bigint) returns text
  language sql stable parallel safe
  return (select case when g.id <= (select max(o.id) from (select id from waybill.manifest_group order by id limit 30) o) then g.name else 'other' end
            from waybill.manifest_group g where g.id = group_id);

-- One row. Claims lock it when a global limit is set, so that any number of dispatchers together respect it.
create table waybill.capacity (
  id              boolean primary key default true constraint capacity_is_one_row check (id),
  max_active_jobs integer constraint capacity_is_positive_or_unlimited check (max_active_jobs > 0),
  is_paused       boolean not null default false,
  updated_at      timestamptz not null default waybill.now()
);
insert into waybill.capacity default values;

-- Versions are handed out by the database: whichever deployment began later wins, a rollback included.
create table waybill.deployment (
  version         bigint generated always as identity primary key,
  owner           text not null,
  definition_hash text not null,
  started_at      timestamptz not null default waybill.now(),
  applied_at      timestamptz,
  summary         jsonb
);
create index deployment_by_owner on waybill.deployment (owner, version desc);

-- What the deployed code knows. The api reads forms from here; it never loads user code.
create table waybill.workflow (
  name               text primary key,
  owner              text not null,
  pool               text not null,
  input_schema       jsonb,
  deployment_version bigint not null references waybill.deployment,
  removed_at         timestamptz,
  updated_at         timestamptz not null default waybill.now()
);

create table waybill.manifest (
  id                        bigint generated always as identity primary key,
  external_id               text not null
                            constraint external_id_is_well_formed check (external_id ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$'),
  kind                      waybill.manifest_kind not null default 'job',
  workflow_name             text,
  input                     jsonb not null default '{}',
  pool                      text,
  group_id                  bigint not null references waybill.manifest_group,

  schedule_type             waybill.schedule_type not null,
  cron_expression           text,
  time_zone                 text,
  interval_seconds          integer constraint interval_is_positive check (interval_seconds > 0),
  anchor                    waybill.interval_anchor,
  run_at                    timestamptz,
  misfire_policy            waybill.misfire_policy not null default 'fire_once',
  misfire_threshold_seconds integer not null default 60
                            constraint misfire_threshold_is_not_negative check (misfire_threshold_seconds >= 0),
  misfire_limit             integer constraint misfire_limit_is_positive check (misfire_limit > 0),
  exclusions                jsonb not null default '[]' constraint exclusions_are_a_list check (jsonb_typeof(exclusions) = 'array'),
  jitter_seconds            integer not null default 0 constraint jitter_is_not_negative check (jitter_seconds >= 0),
  dependency_mode           waybill.dependency_mode,

  max_attempts              integer not null default 3 constraint at_least_one_attempt check (max_attempts >= 1),
  backoff_initial_seconds   integer not null default 10 constraint backoff_starts_at_zero_or_more check (backoff_initial_seconds >= 0),
  backoff_factor            double precision not null default 2 constraint backoff_does_not_shrink check (backoff_factor >= 1),
  backoff_max_seconds       integer not null default 3600 constraint backoff_has_a_positive_ceiling check (backoff_max_seconds > 0),
  backoff_jitter            double precision not null default 0.2 constraint backoff_jitter_is_a_fraction check (backoff_jitter between 0 and 1),
  timeout_seconds           integer constraint timeout_is_positive check (timeout_seconds > 0),
  priority                  smallint not null default 0 constraint priority_is_0_to_31 check (priority between 0 and 31),
  expect_within_seconds     integer constraint expectation_is_positive check (expect_within_seconds > 0),

  is_enabled                boolean not null default true,
  owner                     text not null,
  deployment_version        bigint,
  version                   bigint not null default 1,
  created_at                timestamptz not null default waybill.now(),
  updated_at                timestamptz not null default waybill.now(),
  deleted_at                timestamptz,
  retiring_at               timestamptz,
  quarantine_error          text,

  -- next_occurrence_at is the schedule's truth; next_due_at says "look at me" and is all that a cycle reads.
  next_occurrence_at        timestamptz,
  next_due_at               timestamptz,
  last_successful_run       timestamptz,
  last_success_started_at   timestamptz,
  success_count             bigint not null default 0 constraint success_count_is_not_negative check (success_count >= 0),
  failed_count              integer not null default 0 constraint failed_count_is_not_negative check (failed_count >= 0),
  last_skip_reason          waybill.skip_reason,
  last_skip_at              timestamptz,
  skip_count                bigint not null default 0,

  constraint a_job_and_only_a_job_names_a_workflow check ((kind = 'job') = (workflow_name is not null)),
  constraint cron_has_expression_and_zone check ((schedule_type = 'cron') = (cron_expression is not null and time_zone is not null)),
  constraint interval_has_length_and_anchor check ((schedule_type = 'interval') = (interval_seconds is not null and anchor is not null)),
  constraint once_has_its_instant check ((schedule_type = 'once') = (run_at is not null)),
  constraint dependents_have_a_mode check ((schedule_type in ('dependent', 'dormant_dependent')) = (dependency_mode is not null)),
  constraint fire_all_has_a_limit check ((misfire_policy = 'fire_all') = (misfire_limit is not null)),
  constraint once_has_no_misfire_and_no_exclusions check (schedule_type <> 'once' or (misfire_policy = 'fire_once' and exclusions = '[]')),
  constraint only_timed_manifests_have_occurrences check (next_occurrence_at is null or schedule_type in ('cron', 'interval', 'once')),
  constraint only_what_may_run_is_due check (next_due_at is null or (
    is_enabled and deleted_at is null and retiring_at is null and quarantine_error is null
    and schedule_type not in ('none', 'dormant_dependent'))),
  constraint a_skip_has_reason_and_instant check ((last_skip_reason is null) = (last_skip_at is null))
);
create unique index manifest_external_id_is_unique on waybill.manifest (external_id) where deleted_at is null;
-- The index of the system: a cycle's cost follows what is due, never what is registered.
create index manifest_due on waybill.manifest (next_due_at, id) where next_due_at is not null;
-- Each tick writes its manifest, and with it every index of this table that holds the row: there are no more of them than the engine reads.
create index manifest_exhausted on waybill.manifest (id) where failed_count >= max_attempts and deleted_at is null;
create index manifest_by_group on waybill.manifest (group_id) where deleted_at is null;
create index manifest_by_owner on waybill.manifest (owner, external_id) where deleted_at is null;
create index manifest_deleted on waybill.manifest (deleted_at) where deleted_at is not null;
create index manifest_retiring on waybill.manifest (id) where retiring_at is not null and deleted_at is null;
create index manifest_expecting on waybill.manifest (id) where expect_within_seconds is not null and deleted_at is null;

create table waybill.manifest_dependency (
  child_id               bigint not null references waybill.manifest on delete cascade,
  parent_id              bigint not null references waybill.manifest on delete cascade,
  consumed_success_count bigint not null default 0 constraint consumed_is_not_negative check (consumed_success_count >= 0),
  created_at             timestamptz not null default waybill.now(),
  primary key (child_id, parent_id),
  constraint nothing_depends_on_itself check (child_id <> parent_id)
);
create index manifest_dependency_by_parent on waybill.manifest_dependency (parent_id);

create table waybill.plan_step (
  id                  bigint generated always as identity primary key,
  plan_id             bigint not null references waybill.manifest on delete cascade,
  group_index         integer not null constraint group_index_is_not_negative check (group_index >= 0),
  position            integer not null constraint position_is_not_negative check (position >= 0),
  name                text not null constraint step_name_is_1_to_200_characters check (length(name) between 1 and 200),
  workflow_name       text not null,
  input               jsonb not null default '{}',
  pool                text,
  group_id            bigint not null references waybill.manifest_group,
  continue_on_failure boolean not null default false,
  timeout_seconds     integer constraint step_timeout_is_positive check (timeout_seconds > 0),
  max_attempts        integer not null default 1 constraint step_has_at_least_one_attempt check (max_attempts >= 1),
  is_enabled          boolean not null default true,
  constraint plan_step_place_is_unique unique (plan_id, group_index, position),
  constraint plan_step_name_is_unique unique (plan_id, name)
);
create index plan_step_by_group on waybill.plan_step (group_id);
