import { sql } from '../sql.ts';

/**
 * Nothing holds the manifest `m` back: it may run, its group is enabled, no dead letter awaits, nothing of it is queued (a series waits for its own
 * instants and holds nothing) and nothing is unfinished. Whatever ends one of these holds marks the manifest due, in the same transaction.
 */
export const isNotHeld = sql`(
  m.is_enabled and m.deleted_at is null and m.retiring_at is null and m.quarantine_error is null
  and exists (select from waybill.manifest_group g where g.id = m.group_id and g.is_enabled)
  and not exists (select from waybill.dead_letter d where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention')
  and not exists (select from waybill.work_queue w
                   where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.lane <> 'series' and w.execution_id is null)
  and not exists (select from waybill.execution e
                   where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null))`;
