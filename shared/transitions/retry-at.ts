import { type Sql, sql } from '../db/sql.ts';

/** When a failed execution `e` is tried again: after an exponential wait with jitter, so that what failed together does not come back together. */
export const retryAt: Sql = sql`waybill.now() + make_interval(secs =>
  least(e.backoff_initial_seconds * power(e.backoff_factor, least(e.attempt - 1, 60)), e.backoff_max_seconds) * (1 + (random() * 2 - 1) * e.backoff_jitter))`;
