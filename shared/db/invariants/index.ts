import { attemptsAreConsecutive } from './attempts-are-consecutive.ts';
import { bellIsRung } from './bell-is-rung.ts';
import { consumedNeverAheadOfSuccess } from './consumed-never-ahead-of-success.ts';
import { deadLetterBlocks } from './dead-letter-blocks.ts';
import { deadLettersNameWhatExists } from './dead-letters-name-what-exists.ts';
import { dependenciesHaveNoCycle } from './dependencies-have-no-cycle.ts';
import { dispatchedEntryHasItsExecution } from './dispatched-entry-has-its-execution.ts';
import { dormantRunsOnlyOnRequest } from './dormant-runs-only-on-request.ts';
import { dueIsQueued } from './due-is-queued.ts';
import { entriesNameWhatExists } from './entries-name-what-exists.ts';
import { executionsNameWhatExists } from './executions-name-what-exists.ts';
import { finishedIffFinal } from './finished-iff-final.ts';
import { globalCapacityIsRespected } from './global-capacity-is-respected.ts';
import { groupCapacityIsRespected } from './group-capacity-is-respected.ts';
import { groupsHaveNoCycle } from './groups-have-no-cycle.ts';
import type { Invariant } from './invariant.ts';
import { leaseIsHonoured } from './lease-is-honoured.ts';
import { liveExecutionHasItsEntry } from './live-execution-has-its-entry.ts';
import { nestedRunsShareALease } from './nested-runs-share-a-lease.ts';
import { noDependentIsForgotten } from './no-dependent-is-forgotten.ts';
import { noTimedManifestIsForgotten } from './no-timed-manifest-is-forgotten.ts';
import { nothingIsStarved } from './nothing-is-starved.ts';
import { oneLiveExecutionPerManifest } from './one-live-execution-per-manifest.ts';
import { oneQueuedRetryPerRun } from './one-queued-retry-per-run.ts';
import { planAdvances } from './plan-advances.ts';
import { planGroupsRunInOrder } from './plan-groups-run-in-order.ts';
import { retiredIsDeleted } from './retired-is-deleted.ts';
import { runningStepHasItsRun } from './running-step-has-its-run.ts';
import { stepsEndWithTheirPlan } from './steps-end-with-their-plan.ts';

export type { Invariant, ViolationRow } from './invariant.ts';

/** Everything that must be true of the data, in the order in which a reader would ask. */
export const invariants: readonly Invariant[] = [
  oneLiveExecutionPerManifest,
  groupCapacityIsRespected,
  globalCapacityIsRespected,
  finishedIffFinal,
  entriesNameWhatExists,
  executionsNameWhatExists,
  deadLettersNameWhatExists,
  dispatchedEntryHasItsExecution,
  liveExecutionHasItsEntry,
  nestedRunsShareALease,
  runningStepHasItsRun,
  attemptsAreConsecutive,
  oneQueuedRetryPerRun,
  deadLetterBlocks,
  consumedNeverAheadOfSuccess,
  dormantRunsOnlyOnRequest,
  dependenciesHaveNoCycle,
  groupsHaveNoCycle,
  planGroupsRunInOrder,
  stepsEndWithTheirPlan,
  bellIsRung,
  leaseIsHonoured,
  dueIsQueued,
  noDependentIsForgotten,
  noTimedManifestIsForgotten,
  planAdvances,
  nothingIsStarved,
  retiredIsDeleted,
];
