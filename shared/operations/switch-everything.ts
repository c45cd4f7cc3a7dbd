import { sql } from '../db/sql.ts';
import type { OperationContext } from './context.ts';
import { recordAudit } from './record-audit.ts';

/** Stops admitting anything anywhere. What runs goes on, schedules go on queueing; repeating it changes nothing. */
export function pauseEverything(context: OperationContext): Promise<{ isPaused: boolean }> {
  return switchEverything(context, true);
}

/** Admits again what has waited. Killed between commit and poke, the manager's next cycle finds what is queued and pokes. */
export async function unpauseEverything(context: OperationContext): Promise<{ isPaused: boolean }> {
  const answer = await switchEverything(context, false);
  await Promise.all([context.doorbell.pokeDispatcher(), context.doorbell.pokeManager()]);
  return answer;
}

/** A claim that has already read the old value may still admit what it was about to: pausing is not a fence, it ends admission within a claim. */
async function switchEverything({ database, initiator }: OperationContext, isPaused: boolean): Promise<{ isPaused: boolean }> {
  await database.transaction(async (db) => {
    const changed = await db.query(sql`
      update waybill.capacity set is_paused = ${isPaused}, updated_at = waybill.now() where is_paused <> ${isPaused} returning is_paused`);
    if (!changed.length) return;
    await recordAudit(db, initiator, {
      action: isPaused ? 'system.pause' : 'system.unpause',
      targetType: 'system',
      target: 'admission',
      before: { isPaused: !isPaused },
      after: { isPaused },
    });
  });
  return { isPaused };
}
