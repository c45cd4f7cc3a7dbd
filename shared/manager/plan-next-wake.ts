import { sql } from '../db/sql.ts';
import type { CycleContext } from './cycle.ts';
import { addCounts, type CountedRound } from './cycle-figures.ts';
import { nextInstant } from './next-instant.ts';

/** The heartbeat comes every minute anyway; only what is due before it needs a wake of its own. */
const HEARTBEAT_SECONDS = 60;

export interface PlannedWake {
  hasQueuedWork: boolean;
  wake?: { delaySeconds: number; generation: number };
}

interface NextInstants {
  hasQueuedWork: boolean;
  nextInSeconds: number | null;
  armedInSeconds: number | null;
}

/**
 * Finds the next instant that matters, and whether a wake before the next heartbeat must be armed for it. The armed
 * instant counts only when it was confirmed after its send and still lies ahead; a wake that gets lost costs at most the
 * time to the next heartbeat. It is counted from this transaction, which is before the send: counted from after it, the cycle
 * that the wake brings about would still see it ahead, and plan no other. What the cycle has done so far is noted in the same write.
 */
export async function planNextWake<Round extends CountedRound>(
  round: Round,
  { db, earlier }: CycleContext,
): Promise<Round & { planned: PlannedWake }> {
  const [next] = await db.query<NextInstants>(sql`
    select exists (select from waybill.work_queue where status = 'queued' and priority >= 0 and rank_at <= waybill.now() and available_at <= waybill.now()) as "hasQueuedWork",
           extract(epoch from ${nextInstant} - waybill.now())::double precision as "nextInSeconds",
           (select extract(epoch from armed_at - waybill.now())::double precision from waybill.scheduler_state
             where armed_generation = wake_generation and armed_at > waybill.now()) as "armedInSeconds"`);
  const { hasQueuedWork = false, nextInSeconds = null, armedInSeconds = null } = next ?? {};
  const isArmed = armedInSeconds !== null && nextInSeconds !== null && armedInSeconds <= Math.max(nextInSeconds, 0) + 1;
  const mustArm = nextInSeconds !== null && nextInSeconds < HEARTBEAT_SECONDS && !isArmed;
  const delaySeconds = Math.max(Math.ceil(nextInSeconds ?? 0), 0);
  const [state] = await db.query<{ generation: number }>(sql`
    update waybill.scheduler_state
       set wake_generation = wake_generation + ${mustArm ? 1 : 0}, last_cycle_at = waybill.now(), last_cycle = ${JSON.stringify(addCounts(earlier, round))},
           armed_at = case when ${mustArm} then waybill.now() + make_interval(secs => ${delaySeconds}) else armed_at end
    returning wake_generation as generation`);
  if (!mustArm || !state) return { ...round, planned: { hasQueuedWork } };
  return { ...round, planned: { hasQueuedWork, wake: { delaySeconds, generation: state.generation } } };
}
