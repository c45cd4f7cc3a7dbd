import middy from '@middy/core';
import { prune } from '../../shared/housekeeping/prune.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';

const RETENTION_DAYS = 90;
const BATCH_MS = 15_000;

/** Hourly: removes what is older than the retention. What does not fit into one invocation waits for the next. */
export const handler = middy(async (_: unknown, { database, getRemainingTimeInMillis }: DatabaseContext) => {
  const report = await prune(database, { retentionDays: RETENTION_DAYS, hasTime: () => getRemainingTimeInMillis() > BATCH_MS });
  createLogger('housekeeping').info('pruned', { ...report });
  return report;
}).use(withDatabase());
