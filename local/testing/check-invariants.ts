import type { Db } from '../../shared/db/database.ts';
import type { Invariant } from '../../shared/db/invariants/index.ts';
import { WaybillError } from '../../shared/errors.ts';
import { auditInvariants } from '../../shared/housekeeping/audit-invariants.ts';

/** Throws when an invariant does not hold, with every row that breaks one. Whoever asks for `eventually` has given the engine the time it needs. */
export async function checkInvariants(db: Db, { kinds = ['always'] }: { kinds?: Invariant['kind'][] } = {}): Promise<void> {
  const { violations } = await auditInvariants(db, { kinds });
  if (!violations.length) return;
  const list = violations.map(({ name, subject, detail }) => `  ${name}: ${subject}: ${detail}`);
  throw new WaybillError('invariant_violated', `${violations.length} violations of invariants:\n${list.join('\n')}`);
}
