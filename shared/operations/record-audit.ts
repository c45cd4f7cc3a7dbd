import type { Db } from '../db/database.ts';
import type { Initiator } from '../model/initiator.ts';
import { type AuditEvent, recordAudits } from '../transitions/record-audits.ts';

/** Writes down who did what, in the transaction that does it. */
export async function recordAudit(db: Db, initiator: Initiator, event: AuditEvent): Promise<void> {
  await recordAudits(db, initiator, [event]);
}
