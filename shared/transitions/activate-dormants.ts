import type { Database, Db } from '../db/database.ts';
import { isConnectionLost } from '../db/postgres-errors.ts';
import { ConflictError } from '../errors.ts';
import { type CheckedActivation, checkActivations, list } from '../model/check-activations.ts';
import type { Activation, ActivationResult, Capability } from '../model/dormant.ts';
import type { ManifestId } from '../model/ids.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { checkLease, holdLease, type ParentExecution } from './hold-lease.ts';
import { judgeDormants, lockDormants } from './judge-dormants.ts';
import { queueActivations } from './queue-activations.ts';
import { type ActivationStep, findRecordedActivations, recordActivations } from './record-activations.ts';

/** An activation and the step of the parent's run under which it is recorded. */
export interface NamedActivation extends Activation {
  stepName: string;
}

export interface ActivateDormants {
  capability: Capability;
  activations: readonly NamedActivation[];
  /**
   * Somebody asks under a key of his own, so he repeats what he has asked before: with another input he is mistaken. A parent that counts its activations may
   * compute an input anew in every attempt.
   */
  isKeyed: boolean;
}

export interface RecordedActivation {
  result: ActivationResult;
  /** An earlier call has reached it. */
  isRepeated: boolean;
  /** That one had asked with another input. */
  hasOtherInput: boolean;
}

type Asked = CheckedActivation & { stepName: string };

/**
 * Queues dormant dependents in the name of a running parent, as one set, in one transaction of as many statements for ten thousand as for one: all are judged, or none is
 * queued. Manifests are locked before the parent's execution, and what decides about them is read in statements after the lock; the lock on the execution keeps
 * the lease from being lost before the commit.
 *
 * Each is recorded as a step of the parent's run. Asked again under the same name, by a retried parent or by somebody whose answer got lost, it gives what was
 * recorded. Killed before the commit, nothing is queued and nothing recorded; killed between the commit and the poke, the manager's next cycle pokes for what is
 * queued.
 */
export async function activateDormants(
  { database, doorbell }: { database: Database; doorbell: Doorbell },
  { capability, activations, isKeyed }: ActivateDormants,
): Promise<RecordedActivation[]> {
  const asked = checkActivations(activations).map((one, index): Asked => ({ ...one, stepName: activations[index]!.stepName }));
  if (!asked.length) return [];
  const commit = () => database.transaction((db) => activateAndRecord(db, capability, asked, isKeyed));
  let isUnsure = isKeyed;
  const answered = await commit().catch((error: unknown) => {
    if (!isConnectionLost(error)) throw error;
    // It may have been committed without our hearing of it: then it is recorded, and asking again tells.
    isUnsure = true;
    return commit();
  });
  // Who repeats a request does not know whether the first one came as far as its poke.
  if (answered.some(({ result, isRepeated }) => result.outcome === 'activated' && (isUnsure || !isRepeated)))
    await doorbell.pokeDispatcher();
  return answered;
}

async function activateAndRecord(db: Db, capability: Capability, asked: readonly Asked[], isKeyed: boolean): Promise<RecordedActivation[]> {
  await checkLease(db, capability);
  const ids = await lockDormants(db, externalIdsOf(asked));
  const parent = await holdLease(db, capability);
  const recorded = await findRecordedActivations(
    db,
    parent.runId,
    asked.map(({ stepName }) => stepName),
  );
  if (isKeyed) refuseOtherInput(asked, recorded);
  const steps = await activate(
    db,
    parent,
    asked.filter(({ stepName }) => !recorded.has(stepName)),
    ids,
  );
  await recordActivations(db, parent, steps);
  const results = new Map(steps.map(({ stepName, result }) => [stepName, result]));
  return asked.map(({ stepName, inputHash }) => {
    const earlier = recorded.get(stepName);
    if (!earlier) return { result: results.get(stepName)!, isRepeated: false, hasOtherInput: false };
    return { result: earlier.result, isRepeated: true, hasOtherInput: earlier.inputHash !== inputHash };
  });
}

/** The first that asks for a dependent takes its place in the queue; another of the same set finds it taken, or held for the same reason. */
async function activate(
  db: Db,
  parent: ParentExecution,
  asked: readonly Asked[],
  ids: ManifestId[],
): Promise<(ActivationStep & { stepName: string })[]> {
  if (!asked.length) return [];
  const judged = await judgeDormants(db, parent, externalIdsOf(asked), ids);
  const first = new Map(asked.toReversed().map((one) => [one.externalId, one]));
  const entries = await queueActivations(
    db,
    parent,
    [...judged.values()].flatMap(({ id, externalId, skipReason }) => {
      const one = skipReason === null ? first.get(externalId) : undefined;
      return one ? [{ manifestId: id, input: one.input }] : [];
    }),
  );
  return asked.map((one) => {
    const { externalId, inputHash, stepName } = one;
    const { id, skipReason } = judged.get(externalId)!;
    const entryId = first.get(externalId) === one ? entries.get(id) : undefined;
    const result: ActivationResult =
      entryId === undefined
        ? { externalId, outcome: 'skipped', reason: skipReason ?? 'already_queued' }
        : { externalId, outcome: 'activated', queueEntryId: String(entryId) };
    return { stepName, result, inputHash };
  });
}

function refuseOtherInput(asked: readonly Asked[], recorded: ReadonlyMap<string, ActivationStep>): void {
  const other = asked.filter(({ stepName, inputHash }) => recorded.has(stepName) && recorded.get(stepName)!.inputHash !== inputHash);
  if (!other.length) return;
  throw new ConflictError(
    'activation_key_reused',
    `this run has recorded activations under the same key with another input, so nothing was queued: ${list(other.map(({ externalId }) => `'${externalId}'`))}; repeat a request as it was, or give a new one another key`,
  );
}

function externalIdsOf(activations: readonly { externalId: string }[]): string[] {
  return activations.map(({ externalId }) => externalId);
}
