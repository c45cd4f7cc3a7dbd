-- Plans: what a dispatcher starts without a slot, and what a manager watches while it runs.

-- Until when a plan may run. It has no lease that could run out, so this is what a manager looks for; null once it was asked to stop.
alter table waybill.execution
  add column deadline_at timestamptz,
  add constraint only_a_plan_has_a_deadline check (deadline_at is null or group_count is not null);

-- Unfinished plans, those that run out of time first.
create index execution_running_plans on waybill.execution (deadline_at) where group_count is not null and finished_at is null;

-- The entries of plans: they name no workflow, and what continues an execution is not one.
create index work_queue_plans on waybill.work_queue (rank_at, id) where status = 'queued' and workflow_name is null and execution_id is null;
