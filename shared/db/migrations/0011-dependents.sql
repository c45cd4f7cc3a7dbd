-- A dependent that waits for all of its parents, one of which is no longer declared: that parent was told as a disabled one, which somebody could enable.
alter type waybill.skip_reason add value 'parent_deleted' after 'parent_disabled';

-- Whoever writes an edge asks which groups a group waits for, so those that nobody holds are found by their group too. Their rows rarely move in it: they are never due.
drop index waybill.manifest_held_by_group;
create index manifest_held_by_group on waybill.manifest (group_id)
  where schedule_type in ('dependent', 'dormant_dependent', 'once') and deleted_at is null;
