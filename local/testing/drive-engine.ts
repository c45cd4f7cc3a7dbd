import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { WaybillError } from '../../shared/errors.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { PoolSettings } from '../../shared/settings.ts';
import { readOutlook } from './read-outlook.ts';
import type { RecordedDoorbell } from './record-doorbell.ts';
import { type RunExecution, runExecution } from './run-execution.ts';
import type { VirtualClock } from './virtual-clock.ts';

export interface DriveEngine extends Omit<RunExecution, 'doorbell'> {
  doorbell: RecordedDoorbell;
  pools: Record<string, PoolSettings>;
  clock: VirtualClock;
}

export interface Drive {
  /** Runs what can run now, until nothing is left. Gives the next instant at which something is to be done, undefined if there is none. */
  drain(): Promise<Date | undefined>;
  /** Moves the clock, and on the way stops at every instant at which something is to be done, and does it. */
  advanceTo(target: Date): Promise<void>;
  /** Whether everybody has looked since they were last poked. */
  isAtRest(): boolean;
}

/** What takes as many rounds at one instant is taken for something that starts itself again and again. */
const MOST_ROUNDS = 5_000;

/**
 * Calls the engine's processes in the place of the queues that would invoke them: whoever is poked looks, and whoever is rung runs, one after the other and in the order of the bells, so that
 * a test sees the same order every time. Bells for later are not kept: when the engine has come to rest, the tables say when to look next.
 */
export function driveEngine({ clock, pools, ...executor }: DriveEngine): Drive {
  const { database, doorbell } = executor;
  const manage = () => managerCycle({ database, doorbell, pools });
  const dispatch = () => dispatcherCycle({ database, doorbell, pools });

  async function drain(): Promise<Date | undefined> {
    await manage();
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (takeDispatcherPokes(doorbell)) await dispatch();
      await runRung();
      if (takeManagerPokes(doorbell)) {
        await manage();
        continue;
      }
      // Taken before the tables are read: whoever pokes from now on may have written what that did not see.
      const isDispatcherPoked = takeDispatcherPokes(doorbell);
      const { nextAt, hasQueuedWork } = await readOutlook(database);
      if (nextAt !== undefined && nextAt <= clock.now()) await manage();
      // The end of every run pokes the dispatcher; when nothing is queued, it need not be asked.
      else if (isDispatcherPoked && hasQueuedWork) await dispatch();
      else if (isQuiet(doorbell)) return nextAt;
    }
    throw new WaybillError(
      'never_rests',
      `the engine does not come to rest at ${clock.now().toISOString()}: after ${MOST_ROUNDS} rounds there is still work for this very instant; does a workflow start itself?`,
    );
  }

  /** Taken one by one: what was rung behind a run that hangs is still there when the test goes on. */
  async function runRung(): Promise<void> {
    for (let bell = doorbell.bells.shift(); bell; bell = doorbell.bells.shift()) {
      const { queueUrl } = bell;
      const postponed = await runExecution(bell.executionId, executor);
      doorbell.bells.push(...postponed.map((executionId) => ({ executionId, queueUrl })));
    }
  }

  async function advanceTo(target: Date): Promise<void> {
    for (let nextAt = await drain(); nextAt && nextAt <= target; nextAt = await drain()) clock.moveTo(nextAt);
    clock.moveTo(target);
  }

  return { drain, advanceTo, isAtRest: () => isQuiet(doorbell) };
}

function takeDispatcherPokes(doorbell: RecordedDoorbell): boolean {
  const isPoked = doorbell.dispatcherPokes > 0;
  doorbell.dispatcherPokes = 0;
  return isPoked;
}

function takeManagerPokes(doorbell: RecordedDoorbell): boolean {
  return doorbell.managerPokes.splice(0).some(isForNow);
}

function isQuiet({ bells, dispatcherPokes, managerPokes }: RecordedDoorbell): boolean {
  return bells.length === 0 && dispatcherPokes === 0 && !managerPokes.some(isForNow);
}

/** Those for later are planned wakes, or looks in case the sender should die. */
function isForNow({ delaySeconds = 0, generation }: RecordedDoorbell['managerPokes'][number]): boolean {
  return delaySeconds === 0 && generation === undefined;
}
