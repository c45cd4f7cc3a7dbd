import type { Database } from '../db/database.ts';
import { NonRetryableError } from '../errors.ts';
import type { Activation, ActivationResult, Capability, Dormant } from '../model/dormant.ts';
import type { Logger } from '../observability/log.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { activateDormants, type RecordedActivation } from '../transitions/activate-dormants.ts';
import { refuseInsideStep } from './steps/current-step.ts';

export interface CreateDormant {
  database: Database;
  doorbell: Doorbell;
  capability: Capability;
  signal: AbortSignal;
  log: Logger;
  /** The names of the nested runs around, as in `import/download`; empty in the outermost. */
  around?: string;
}

/** How many skipped ones a line of the log names. */
const MOST_NAMED = 20;
const LONGEST_NAME = 500;

/**
 * What a workflow sees as `ctx.dormant`. A nested workflow acts in the name of the outermost, which holds the lease, but counts for itself: it is not entered again once its own result
 * is recorded.
 */
export function createDormant({ database, doorbell, capability, signal, log, around = '' }: CreateDormant): Dormant {
  const counts = new Map<string, number>();

  /** Counted when it is called, before anything is awaited: calls side by side have the same numbers in every attempt. */
  function nameStep(externalId: string): string {
    const count = (counts.get(externalId) ?? 0) + 1;
    counts.set(externalId, count);
    const name = `activate:${externalId}#${around && `${around}/`}${count}`;
    if (name.length <= LONGEST_NAME) return name;
    throw new NonRetryableError(
      `'${externalId.slice(0, 200)}' cannot be activated inside '${around}': the two have more than ${LONGEST_NAME} characters together`,
    );
  }

  async function activateMany(activations: readonly Activation[]): Promise<ActivationResult[]> {
    refuseInsideStep('ctx.dormant');
    const named = activations.map(({ externalId, input }) => ({ externalId, input, stepName: nameStep(externalId) }));
    signal.throwIfAborted();
    const answered = await activateDormants({ database, doorbell }, { capability, activations: named, isKeyed: false });
    warn(answered, capability, log);
    return answered.map(({ result }) => result);
  }

  return {
    activateMany,
    activate: async (manifest: string | { readonly externalId: string }, input?: unknown) => {
      const externalId = typeof manifest === 'string' ? manifest : manifest.externalId;
      const [result] = await activateMany([{ externalId, input }]);
      return result!;
    },
    capability: () => ({ ...capability }),
  };
}

function warn(answered: readonly RecordedActivation[], { executionId }: Capability, log: Logger): void {
  const skipped = answered.flatMap(({ result }) => (result.outcome === 'skipped' ? [result] : []));
  if (skipped.length)
    log.warn('dormant dependents were not activated', {
      executionId,
      skippedCount: skipped.length,
      skipped: skipped.slice(0, MOST_NAMED).map(({ externalId, reason }) => ({ externalId, reason })),
    });
  const other = answered.filter(({ hasOtherInput }) => hasOtherInput);
  if (other.length)
    log.warn('an earlier attempt has asked for these with another input: its results stand', {
      executionId,
      externalIds: other.slice(0, MOST_NAMED).map(({ result }) => result.externalId),
    });
}
