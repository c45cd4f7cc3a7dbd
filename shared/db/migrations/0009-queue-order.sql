-- The clock is asked in nearly every statement, several times. As a function in SQL its text was read and unfolded into each of them: 30 µs each time, more than the
-- statement took. A call costs half a microsecond.
create or replace function waybill.now() returns timestamptz
  language plpgsql stable parallel safe as $$
begin
  return coalesce(nullif(current_setting('waybill.now', true), '')::timestamptz, date_trunc('milliseconds', pg_catalog.now()));
end $$;

-- The queue in its own order, for a claim when more groups have work than it could ask one by one: a manifest that shares no group has one of its own, so a burst of
-- a hundred thousand is a hundred thousand groups. Only a statement that asks for a priority may use it: queued rows look like none to the statistics, and the planner would
-- walk this index for the entries of one group.
create index work_queue_in_order on waybill.work_queue (rank_at, id) where status = 'queued' and priority is not null;

-- A priority brings entries of a group before others, wherever they stand in that order.
create index manifest_group_preferred on waybill.manifest_group (priority desc, id) where priority > 0;

-- Only what was delayed has an instant to wake up for.
drop index waybill.work_queue_available;
create index work_queue_delayed on waybill.work_queue (available_at) where status = 'queued' and available_at > created_at;
