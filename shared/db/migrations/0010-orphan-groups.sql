-- Since when nothing names a group but history: no manifest, no step of a plan, nothing that is queued, unfinished or awaits a person. Whoever uses it again takes the mark away, so that
-- a group may go once all history of that time is gone, which no index of executions could tell at a bearable price.
alter table waybill.manifest_group add column orphaned_at timestamptz;
create index manifest_group_orphaned on waybill.manifest_group (orphaned_at, id) where orphaned_at is not null;

-- A manifest that is removed takes its backfills along.
create index backfill_by_manifest on waybill.backfill (manifest_id);
