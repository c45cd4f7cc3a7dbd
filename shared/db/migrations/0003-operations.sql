-- What people and processes leave behind: backfills, idempotency, notifications, the scheduler's own state, the audit trail.

create type waybill.backfill_status as enum ('running', 'completed', 'cancelled');
create type waybill.notification_kind as enum ('failed', 'dead_lettered', 'recovered', 'late');

create table waybill.backfill (
  id             bigint generated always as identity primary key,
  manifest_id    bigint not null references waybill.manifest on delete cascade,
  from_at        timestamptz not null,
  to_at          timestamptz not null,
  cursor_at      timestamptz not null,
  status         waybill.backfill_status not null default 'running',
  queued_count   bigint not null default 0,
  initiator_type waybill.initiator_type not null,
  initiator_id   text,
  initiator_name text,
  created_at     timestamptz not null default waybill.now(),
  ended_at       timestamptz,
  constraint backfill_goes_forward check (to_at > from_at),
  constraint cursor_stays_inside check (cursor_at between from_at and to_at),
  constraint backfill_ended_iff_not_running check ((ended_at is null) = (status = 'running'))
);
create unique index one_running_backfill_per_manifest on waybill.backfill (manifest_id) where status = 'running';

create table waybill.idempotency_key (
  key          text primary key constraint idempotency_key_is_1_to_255_characters check (length(key) between 1 and 255),
  request_hash text not null,
  response     jsonb not null,
  created_at   timestamptz not null default waybill.now()
);
create index idempotency_key_by_age on waybill.idempotency_key (created_at);

-- An outbox: written by the transaction that decided, sent at least once after its commit.
create table waybill.notification (
  id            bigint generated always as identity primary key,
  kind          waybill.notification_kind not null,
  manifest_id   bigint,
  execution_id  bigint,
  payload       jsonb not null,
  attempt_count integer not null default 0,
  created_at    timestamptz not null default waybill.now(),
  sent_at       timestamptz
);
create index notification_unsent on waybill.notification (id) where sent_at is null;
create index notification_by_age on waybill.notification (created_at);

-- One row. A planned wake is ignored only when a later generation is confirmed armed.
create table waybill.scheduler_state (
  id               boolean primary key default true constraint scheduler_state_is_one_row check (id),
  wake_generation  bigint not null default 0,
  armed_generation bigint not null default 0,
  armed_at         timestamptz,
  last_cycle_at    timestamptz,
  last_cycle       jsonb,
  constraint only_a_planned_wake_is_armed check (armed_generation <= wake_generation)
);
insert into waybill.scheduler_state default values;

create table waybill.audit_event (
  id             bigint generated always as identity primary key,
  occurred_at    timestamptz not null default waybill.now(),
  initiator_type waybill.initiator_type not null,
  initiator_id   text,
  initiator_name text,
  action         text not null,
  target_type    text not null,
  target         text not null,
  before         jsonb,
  after          jsonb
);
create index audit_event_by_target on waybill.audit_event (target_type, target, id desc);
create index audit_event_by_age on waybill.audit_event (occurred_at);
