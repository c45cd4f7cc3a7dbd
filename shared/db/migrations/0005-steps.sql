-- Durable steps: sleeps and nested runs beside plain steps, how each failed and what it counted, and when the present holder of a lease took its execution over.

create type waybill.step_kind as enum ('step', 'sleep', 'run');

alter table waybill.execution_step
  add column kind              waybill.step_kind not null default 'step',
  -- A failure is told again to every continuation of the attempt, in the same words.
  add column failure_code      text,
  add column failure_name      text,
  add column item_count        bigint not null default 0,
  add column failed_item_count bigint not null default 0,
  add column warning_count     bigint not null default 0,
  -- The executor allows 256 KiB of JSON text. Stored, that is at most six times as much (a list of digits); as jsonb's own text it has no bound worth naming,
  -- since a number like 1e308 is written out.
  drop constraint step_output_is_at_most_256_kib,
  add constraint step_output_is_at_most_2_mib check (pg_column_size(output) <= 2097152);

alter table waybill.execution
  -- started_at is the beginning of the attempt, through every continuation and sleep; this is the beginning of what is running now.
  add column claimed_at timestamptz,
  drop constraint a_plan_step_has_its_place,
  add constraint a_plan_step_has_its_place check (num_nulls(group_index, position) in (0, 2) and (group_index is null or step_name is not null));

-- A nested run is taken up again by its name, in every continuation of the attempt that began it.
create unique index one_nested_run_per_name on waybill.execution (parent_id, step_name) where group_index is null and step_name is not null;

create index execution_log_by_run on waybill.execution_log (run_id);
