-- What runs: intents (work_queue), attempts (execution), their steps and logs, and dead letters.
-- work_queue and execution carry no foreign keys: five of them cost ten times the insert and put multixacts on the group row.
-- The invariants check the references, and only housekeeping removes rows.

create type waybill.work_queue_status as enum ('queued', 'dispatched', 'cancelled');
create type waybill.work_queue_lane as enum ('fresh', 'retry', 'series');
create type waybill.work_origin as enum ('schedule', 'dependency', 'activation', 'manual', 'plan', 'retry', 'backfill', 'dead_letter');
create type waybill.execution_state as enum (
  'waiting', 'pending', 'in_progress', 'completed', 'completed_with_warnings', 'failed', 'cancelled', 'skipped');
create type waybill.step_state as enum ('running', 'completed', 'failed');
create type waybill.log_level as enum ('debug', 'info', 'warn', 'error');
create type waybill.dead_letter_status as enum ('awaiting_intervention', 'retried', 'acknowledged');
create type waybill.dead_letter_reason as enum (
  'exhausted', 'non_retryable', 'invalid_input', 'input_outdated', 'unknown_workflow', 'never_started', 'plan_failed');
create type waybill.initiator_type as enum ('schedule', 'dependency', 'execution', 'user', 'system', 'deployment');

create table waybill.work_queue (
  id                      bigint generated always as identity primary key,
  workflow_name           text,
  input                   jsonb not null default '{}',
  -- Somebody asked for exactly this input; otherwise it is what the manifest had when the entry was queued.
  is_input_given          boolean not null default false,
  pool                    text,
  manifest_id             bigint,
  group_id                bigint not null,
  execution_id            bigint,
  run_id                  bigint,
  attempt                 integer not null default 1 constraint attempt_counts_from_one check (attempt >= 1),
  -- The effective priority: the manifest's, and for dependents the boost. The group's is added when heads are merged.
  priority                smallint not null default 0 constraint effective_priority_is_0_to_63 check (priority between 0 and 63),
  status                  waybill.work_queue_status not null default 'queued',
  lane                    waybill.work_queue_lane not null default 'fresh',
  origin                  waybill.work_origin not null,
  occurrence_at           timestamptz,
  available_at            timestamptz not null default waybill.now(),
  -- Waiting ages one point of priority a minute, without touching a row.
  rank_at                 timestamptz not null generated always as
                          (((available_at at time zone 'UTC') - make_interval(mins => priority)) at time zone 'UTC') stored,
  dead_letter_id          bigint,
  backfill_id             bigint,
  max_attempts            integer not null default 1 constraint entry_has_at_least_one_attempt check (max_attempts >= 1),
  timeout_seconds         integer constraint entry_timeout_is_positive check (timeout_seconds > 0),
  backoff_initial_seconds integer not null default 10,
  backoff_factor          double precision not null default 2,
  backoff_max_seconds     integer not null default 3600,
  backoff_jitter          double precision not null default 0.2,
  consumed_counts         jsonb not null default '{}' constraint entry_counts_are_an_object check (jsonb_typeof(consumed_counts) = 'object'),
  initiator_type          waybill.initiator_type not null,
  initiator_id            text,
  initiator_name          text,
  created_at              timestamptz not null default waybill.now(),
  dispatched_at           timestamptz,
  cancelled_at            timestamptz,
  cancel_reason           text,
  constraint dispatched_iff_it_has_an_instant check ((status = 'dispatched') = (dispatched_at is not null)),
  constraint cancelled_iff_it_has_an_instant check ((status = 'cancelled') = (cancelled_at is not null)),
  constraint a_later_attempt_belongs_to_a_run check (attempt = 1 or run_id is not null),
  constraint a_series_entry_has_an_occurrence check (lane <> 'series' or occurrence_at is not null or execution_id is not null),
  constraint a_scheduled_entry_has_manifest_and_occurrence check (origin <> 'schedule' or (manifest_id is not null and occurrence_at is not null))
);
-- The backstop against double queueing: one fresh and one retry per manifest, a series entry per occurrence.
create unique index one_fresh_and_one_retry_per_manifest on waybill.work_queue (manifest_id, lane)
  where status = 'queued' and execution_id is null and lane in ('fresh', 'retry') and manifest_id is not null;
create unique index one_series_entry_per_occurrence on waybill.work_queue (manifest_id, occurrence_at)
  where status = 'queued' and execution_id is null and lane = 'series' and manifest_id is not null;
create unique index one_entry_per_scheduled_occurrence on waybill.work_queue (manifest_id, occurrence_at) where origin = 'schedule';
create unique index one_queued_entry_per_execution on waybill.work_queue (execution_id) where status = 'queued' and execution_id is not null;
-- What a claim reads: per group, in order of rank. The odd predicates keep this index and the one below from standing in for each other when the
-- statistics are of a time when nothing was queued.
create index work_queue_claimable on waybill.work_queue (group_id, rank_at, id) where status = 'queued' and group_id is not null;
create index work_queue_queued_by_manifest on waybill.work_queue (manifest_id) where status = 'queued' and manifest_id is not null;
create index work_queue_available on waybill.work_queue (available_at) where status = 'queued' and available_at is not null;
create index work_queue_ended on waybill.work_queue (created_at) where status <> 'queued';
create index work_queue_by_execution on waybill.work_queue (execution_id) where execution_id is not null;

create table waybill.execution (
  id                      bigint generated always as identity primary key,
  parent_id               bigint,
  root_id                 bigint not null,
  run_id                  bigint not null,
  manifest_id             bigint,
  workflow_name           text,
  pool                    text,
  group_id                bigint not null,
  work_queue_id           bigint constraint one_execution_per_entry unique,
  state                   waybill.execution_state not null default 'pending',
  attempt                 integer not null default 1 constraint execution_attempt_counts_from_one check (attempt >= 1),
  occurrence_at           timestamptz,
  origin                  waybill.work_origin not null,
  initiator_type          waybill.initiator_type not null,
  initiator_id            text,
  initiator_name          text,
  input                   jsonb not null default '{}',
  output                  jsonb,
  consumed_counts         jsonb not null default '{}' constraint counts_are_an_object check (jsonb_typeof(consumed_counts) = 'object'),
  failure_code            text,
  failure_message         text,
  failure_step            text,
  failure_stack           text,
  progress_done           bigint,
  progress_total          bigint,
  progress_message        text,
  item_count              bigint not null default 0,
  failed_item_count       bigint not null default 0,
  warning_count           bigint not null default 0,
  created_at              timestamptz not null default waybill.now(),
  available_at            timestamptz,
  sent_at                 timestamptz,
  ring_count              integer not null default 0,
  started_at              timestamptz,
  running_ms              bigint not null default 0,
  lease_token             uuid,
  lease_expires_at        timestamptz,
  cancel_requested_at     timestamptz,
  finished_at             timestamptz,
  log_stream              text,
  request_id              text,
  is_solo                 boolean not null default false,
  unknown_since_at        timestamptz,
  -- The attempt's limits, as they were when it was admitted.
  max_attempts            integer not null default 1,
  timeout_seconds         integer,
  backoff_initial_seconds integer not null default 10,
  backoff_factor          double precision not null default 2,
  backoff_max_seconds     integer not null default 3600,
  backoff_jitter          double precision not null default 0.2,
  priority                smallint not null default 0,
  -- A step of a plan: its place. A plan: how far it is.
  group_index             integer,
  position                integer,
  step_name               text,
  continue_on_failure     boolean not null default false,
  current_group_index     integer,
  group_count             integer,
  constraint finished_iff_final check (
    (finished_at is not null) = (state in ('completed', 'completed_with_warnings', 'failed', 'cancelled', 'skipped'))),
  constraint a_run_in_progress_holds_a_lease check (
    state <> 'in_progress' or group_count is not null or (lease_token is not null and lease_expires_at is not null)),
  -- A finished run keeps its token, so that an executor whose commit was acknowledged into the void recognizes its own outcome.
  constraint only_a_run_in_progress_has_a_lease_to_lose check (state = 'in_progress' or lease_expires_at is null),
  constraint nobody_holds_what_has_not_started check (state not in ('waiting', 'pending') or lease_token is null),
  constraint a_failure_says_why check (state <> 'failed' or failure_code is not null),
  constraint a_plan_step_has_its_place check (num_nulls(group_index, position, step_name) in (0, 3)),
  constraint a_plan_knows_where_it_is check ((group_count is null) = (current_group_index is null))
);
-- Overlap is unrepresentable: at most one unfinished execution per manifest.
create unique index one_unfinished_execution_per_manifest on waybill.execution (manifest_id)
  where parent_id is null and finished_at is null and manifest_id is not null;
create unique index one_execution_per_step_attempt on waybill.execution (parent_id, group_index, position, attempt) where group_index is not null;
-- Capacity counts these: pending or in progress, with an entry, not a plan. The odd predicate keeps the planner from
-- probing another partial index per candidate: live rows look like none to its statistics.
create index execution_live_by_group on waybill.execution (group_id)
  where state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null and group_id is not null;
create index execution_live_by_pool on waybill.execution (pool)
  where state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null and pool is not null;
create index execution_lease on waybill.execution (lease_expires_at) where state = 'in_progress' and lease_expires_at is not null;
create index execution_unclaimed on waybill.execution (created_at) where state = 'pending';
create index execution_by_manifest on waybill.execution (manifest_id, id desc) where manifest_id is not null;
create index execution_by_workflow on waybill.execution (workflow_name, id desc);
create index execution_by_run on waybill.execution (run_id);
create index execution_by_root on waybill.execution (root_id);
create index execution_by_parent on waybill.execution (parent_id) where parent_id is not null;
create index execution_by_state on waybill.execution (state, id desc);
create index execution_finished on waybill.execution (finished_at) where finished_at is not null;

create table waybill.execution_step (
  id              bigint generated always as identity primary key,
  execution_id    bigint not null,
  run_id          bigint not null,
  name            text not null constraint execution_step_name_is_1_to_500_characters check (length(name) between 1 and 500),
  sequence        integer not null,
  state           waybill.step_state not null,
  output          jsonb constraint step_output_is_at_most_256_kib check (octet_length(output::text) <= 262144),
  started_at      timestamptz not null,
  finished_at     timestamptz,
  failure_message text,
  failure_stack   text,
  constraint step_runs_once_per_run unique (run_id, name),
  constraint step_finished_iff_not_running check ((finished_at is null) = (state = 'running'))
);
create index execution_step_by_execution on waybill.execution_step (execution_id);

create table waybill.execution_log (
  id           bigint generated always as identity primary key,
  execution_id bigint not null,
  run_id       bigint not null,
  logged_at    timestamptz not null,
  level        waybill.log_level not null,
  message      text not null constraint log_line_is_at_most_8_kib check (octet_length(message) <= 8192),
  fields       jsonb
);
create index execution_log_by_execution on waybill.execution_log (execution_id, id);

create table waybill.dead_letter (
  id                bigint generated always as identity primary key,
  manifest_id       bigint,
  execution_id      bigint not null,
  run_id            bigint not null,
  input             jsonb not null,
  consumed_counts   jsonb not null default '{}',
  status            waybill.dead_letter_status not null default 'awaiting_intervention',
  reason            waybill.dead_letter_reason not null,
  message           text,
  failed_count      integer not null,
  created_at        timestamptz not null default waybill.now(),
  resolved_at       timestamptz,
  resolution_note   text,
  resolved_by_type  waybill.initiator_type,
  resolved_by_id    text,
  resolved_by_name  text,
  constraint resolved_iff_not_awaiting check ((resolved_at is null) = (status = 'awaiting_intervention')),
  constraint one_dead_letter_per_execution unique (execution_id)
);
create unique index one_awaiting_dead_letter_per_manifest on waybill.dead_letter (manifest_id)
  where status = 'awaiting_intervention' and manifest_id is not null;
create index dead_letter_by_status on waybill.dead_letter (status, id desc);
create index dead_letter_by_manifest on waybill.dead_letter (manifest_id, id desc);
