import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { Initiator } from '../model/initiator.ts';

export interface AuditEvent {
  /** `manifest.trigger`, `dead_letter.retry`: what was done, in words that stay. */
  action: string;
  targetType: 'manifest' | 'group' | 'execution' | 'work_queue' | 'dead_letter' | 'workflow' | 'system';
  target: string;
  before?: unknown;
  after?: unknown;
}

/** Writes down who did what, in the transaction that does it and in the order given. */
export async function recordAudits(db: Db, initiator: Initiator, events: AuditEvent[]): Promise<void> {
  if (!events.length) return;
  const rows = events.map(({ action, targetType, target, before, after }, place) => ({
    place,
    action,
    target_type: targetType,
    target,
    before,
    after,
  }));
  await db.query(sql`
    insert into waybill.audit_event (initiator_type, initiator_id, initiator_name, action, target_type, target, before, after)
    select ${initiator.type}::waybill.initiator_type, ${initiator.id}, ${initiator.name}, d.action, d.target_type, d.target, d.before, d.after
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as d (place integer, action text, target_type text, target text, before jsonb, after jsonb)
     order by d.place`);
}
