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

/** Writes down who did what, in the transaction that does it. */
export async function recordAudit(db: Db, initiator: Initiator, { action, targetType, target, before, after }: AuditEvent): Promise<void> {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  await db.query(sql`
    insert into waybill.audit_event (initiator_type, initiator_id, initiator_name, action, target_type, target, before, after)
    values (${initiator.type}, ${initiator.id}, ${initiator.name}, ${action}, ${targetType}, ${target}, ${json(before)}::jsonb, ${json(after)}::jsonb)`);
}
