import type { Db } from '../db/database.ts';
import { type Invariant, invariants, type ViolationRow } from '../db/invariants/index.ts';

export interface Violation extends ViolationRow {
  /** The invariant that does not hold. */
  name: string;
}

export interface Audit {
  violations: Violation[];
}

const ALL_KINDS: Invariant['kind'][] = ['always', 'eventually'];

/**
 * Asks every invariant whether it holds. Each statement sees one state of its own, so work that goes on meanwhile breaks none of them.
 * It only reads: killed in between, nothing is lost but the answer, and the next hour asks again.
 */
export async function auditInvariants(db: Db, { kinds = ALL_KINDS }: { kinds?: Invariant['kind'][] } = {}): Promise<Audit> {
  const violations: Violation[] = [];
  for (const { name, kind, statement } of invariants) {
    if (!kinds.includes(kind)) continue;
    const rows = await db.query<ViolationRow>(statement);
    violations.push(...rows.map(({ subject, detail }) => ({ name, subject, detail })));
  }
  return { violations };
}
