import type { Doorbell } from '../queue/doorbell.ts';
import { handBackRun, type SuspendRun } from '../transitions/hand-back-run.ts';
import { sleepRun } from '../transitions/sleep-run.ts';
import { type ReachDatabase, reachDatabase } from './reach-database.ts';
import type { Suspension } from './steps/watch-for-quiet.ts';

export interface SuspendDependencies extends ReachDatabase {
  doorbell: Doorbell;
  /** Where the executors of this pool hear their bells. Without it the manager rings, half a minute later. */
  workQueueUrl?: string;
}

/**
 * Lets a run leave its function without having ended. A commit whose answer got lost is tried again and then finds the run gone, which comes to the same: a bell too many does no harm. `cancel_requested`: somebody wants it
 * to stop, and nothing was changed. When the database stays away, nothing is changed either: the lease runs out, and recovery ends the attempt.
 */
export async function suspendRun(
  run: SuspendRun,
  suspension: Suspension,
  dependencies: SuspendDependencies,
): Promise<'suspended' | 'cancel_requested' | 'left'> {
  const { log } = dependencies;
  const executionId = String(run.executionId);
  try {
    const suspended = await reachDatabase(
      'a run was suspended',
      (database) =>
        database.transaction((db) =>
          suspension.kind === 'sleep' ? sleepRun(db, { ...run, resumeAt: suspension.resumeAt }) : handBackRun(db, run),
        ),
      dependencies,
    );
    if (suspended.outcome === 'cancel_requested') return suspended.outcome;
    if (suspended.outcome === 'suspended')
      log.info(suspension.kind === 'sleep' ? 'run sleeps' : 'run goes on in another invocation', { executionId, ...suspension });
    await announce(run, suspension, dependencies);
    return 'suspended';
  } catch (error) {
    log.error('a run could not be suspended, recovery will end its attempt', { executionId, error });
    return 'left';
  }
}

/**
 * A sleeper leaves a slot, and an instant that the manager must plan for. What goes on at once is rung where it ran; it counts as rung since it was handed back. Whatever fails here is made up
 * for by the next cycle.
 */
async function announce(
  { executionId }: SuspendRun,
  { kind }: Suspension,
  { doorbell, workQueueUrl, log }: SuspendDependencies,
): Promise<void> {
  try {
    if (kind === 'sleep') await Promise.all([doorbell.pokeDispatcher(), doorbell.pokeManager()]);
    else if (workQueueUrl !== undefined) await doorbell.ringExecutions([{ executionId, queueUrl: workQueueUrl }]);
  } catch (error) {
    log.warn('nobody could be told of a run that goes on, the next cycle will look', { executionId: String(executionId), error });
  }
}
