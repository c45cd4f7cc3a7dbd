import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';

/** What is queued for a tick or for parents' successes takes the manifest's input when it is admitted: it is for the workflow that the input is for. */
const followsManifest = sql`w.origin in ('schedule', 'dependency') and w.attempt = 1 and not w.is_input_given and w.execution_id is null`;

/**
 * Takes the queued entries of locked manifests along to the group that their manifest has now, where they wait for a slot like any other; those that will take its input,
 * to its workflow and pool too. What runs keeps the slot that was counted for it. An entry that belongs to a part of a run, as the steps of a plan do, has a group of its own.
 */
export async function moveEntries(db: Db, manifestIds: ManifestId[]): Promise<void> {
  if (!manifestIds.length) return;
  await db.query(sql`
    with held as (
      select w.id, m.group_id, follows.workflow_name, follows.pool
        from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id
       cross join lateral (
         select case when ${followsManifest} then m.workflow_name else w.workflow_name end as workflow_name,
                case when ${followsManifest} then m.pool else w.pool end as pool) follows
       where w.manifest_id = any(${manifestIds}::bigint[]) and w.status = 'queued'
         and (w.group_id, w.workflow_name, w.pool) is distinct from (m.group_id, follows.workflow_name, follows.pool)
         and not exists (select from waybill.execution e where e.id = w.execution_id and e.parent_id is not null)
       order by w.id for no key update of w
    )
    update waybill.work_queue w set group_id = held.group_id, workflow_name = held.workflow_name, pool = held.pool
      from held where w.id = held.id and w.status = 'queued'`);
}

/** The changes of a manifest that concern what is queued for it. */
export function concernsEntries({ fields }: { fields: string[] }): boolean {
  return ['group', 'workflow', 'pool'].some((field) => fields.includes(field));
}
