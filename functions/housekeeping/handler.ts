import middy from '@middy/core';
import type { Database } from '../../shared/db/database.ts';
import { auditInvariants } from '../../shared/housekeeping/audit-invariants.ts';
import { prune } from '../../shared/housekeeping/prune.ts';
import { repairDependents } from '../../shared/housekeeping/repair-dependents.ts';
import { retentionDays } from '../../shared/housekeeping/retention-days.ts';
import { createLogger, type Logger } from '../../shared/observability/log.ts';
import { createMetrics, type Metrics } from '../../shared/observability/metrics.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';

const BATCH_MS = 15_000;

export interface Housekeeping {
  database: Database;
  log: Logger;
  metrics: Metrics;
  retentionDays: number;
  hasTime: () => boolean;
}

/**
 * Audits, repairs, prunes. The audit comes first: a repair removes what it reports, so killed between the two, the next hour reports and repairs, and a
 * backlog of old rows cannot use up the time in which violations are told. What pruning does not get done waits for the next hour.
 */
export async function keepHouse({ database, log, metrics, retentionDays, hasTime }: Housekeeping) {
  const { violations } = await auditInvariants(database);
  for (const violation of violations) log.error('an invariant is violated', { ...violation });
  metrics.emit({ metrics: { InvariantViolations: violations.length } });
  const repaired = await repairDependents(database);
  if (repaired.length) log.warn('dependents that nothing would have looked at are due again', { manifestIds: repaired });
  const report = await prune(database, { retentionDays, hasTime });
  log.info('pruned', { ...report });
  return { violationCount: violations.length, repairedCount: repaired.length, ...report };
}

export const handler = middy((_: unknown, { database, getRemainingTimeInMillis }: DatabaseContext) =>
  keepHouse({
    database,
    log: createLogger('housekeeping'),
    metrics: createMetrics(),
    retentionDays: retentionDays(),
    hasTime: () => getRemainingTimeInMillis() > BATCH_MS,
  }),
).use(withDatabase());
