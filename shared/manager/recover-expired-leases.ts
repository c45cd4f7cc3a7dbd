import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import { type EndedRun, endRuns } from '../transitions/end-runs.ts';
import type { CycleContext } from './cycle.ts';

const LIMIT = 200;

/** Ends the runs whose executor has not been heard of since its lease ran out: a lost lease is a failed attempt. */
export async function recoverExpiredLeases(_: object, { db }: CycleContext): Promise<{ recovered: EndedRun[] }> {
  const lost = await db.query<{ id: ExecutionId }>(sql`
    select id from waybill.execution
     where state = 'in_progress' and lease_expires_at < waybill.now()
     order by lease_expires_at limit ${LIMIT}`);
  const recovered = await endRuns(
    db,
    lost.map(({ id }) => ({
      executionId: id,
      leaseToken: null,
      state: 'failed',
      failure: {
        code: 'lease_lost',
        message: 'the executor stopped renewing its lease: it was killed, ran out of memory or lost its network',
      },
    })),
  );
  return { recovered };
}
