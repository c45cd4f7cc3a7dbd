-- Every run writes its manifest twice and its execution four times, and each write pays for every rule and index of the row. These cost more than they gave.

-- The same rule as before. A bounded repetition is unfolded by the regular expression engine: 11 µs per written row, against 0.4 for the length beside it.
alter table waybill.manifest
  drop constraint external_id_is_well_formed,
  add constraint external_id_is_well_formed check (external_id ~ '^[A-Za-z0-9][A-Za-z0-9._:-]*$' and length(external_id) <= 200);

-- Without jitter there is nothing to hash.
create or replace function waybill.jitter(manifest_id bigint, occurrence_at timestamptz, jitter_seconds integer) returns interval
  language sql stable parallel safe
  return case when jitter_seconds = 0 then interval '0' else make_interval(secs => mod(
    hashint8extended(manifest_id, extract(epoch from occurrence_at)::bigint) & 9223372036854775807, jitter_seconds + 1)) end;

-- A tick writes its manifest, and with it every index that holds the row: 3 to 4 µs each. A deployment reads all manifests of its owner anyway. By their group the engine
-- looks only for those that it may have held, and people for a page at a time.
drop index waybill.manifest_by_owner;
drop index waybill.manifest_by_group;
create index manifest_held_by_group on waybill.manifest (group_id) where schedule_type in ('dependent', 'once') and deleted_at is null;

-- Called per row, since a function with a subquery is not inlined: 27 µs each. Statements read the thirty oldest groups once instead.
drop function waybill.metric_group(bigint);

-- A finished run that went well is found by its id, its manifest, its workflow or its time. What is looked for by state is rare: what is unfinished, and what went wrong.
drop index waybill.execution_by_state;
create index execution_unfinished on waybill.execution (state, id desc) where state in ('waiting', 'pending', 'in_progress');
create index execution_not_completed on waybill.execution (state, id desc)
  where state in ('completed_with_warnings', 'failed', 'cancelled', 'skipped');

-- The first attempt of a run and the root of a tree carry their own id.
drop index waybill.execution_by_run;
create index execution_by_run on waybill.execution (run_id) where run_id <> id;
drop index waybill.execution_by_root;
create index execution_by_root on waybill.execution (root_id) where root_id <> id;

-- Room on the page for the note that a bell was rung, and for a success count: neither touches an index then.
alter table waybill.execution set (fillfactor = 75);
alter table waybill.manifest set (fillfactor = 85);
