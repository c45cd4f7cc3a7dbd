import type { Database } from '../db/database.ts';
import { InvalidInputError } from '../errors.ts';
import type { ActivationRequest, ActivationResult } from '../model/dormant.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { activateDormants } from '../transitions/activate-dormants.ts';

/** Under which a request without a key is recorded. */
const DEFAULT_KEY = 'once';

/**
 * Activates dormant dependents for somebody outside the executor, who holds the capability of the running parent. The request is recorded under its key: repeated after a
 * lost answer, or by whatever a retried parent invokes again, it gives the recorded results; with other inputs under the same key it is refused.
 */
export async function activate(
  dependencies: { database: Database; doorbell: Doorbell },
  { executionId, leaseToken, key = DEFAULT_KEY, activations }: ActivationRequest,
): Promise<ActivationResult[]> {
  checkKey(key);
  refuseRepeated(activations.map(({ externalId }) => externalId));
  const answered = await activateDormants(dependencies, {
    capability: { executionId, leaseToken },
    activations: activations.map((one) => ({ ...one, stepName: `activate:${one.externalId}#${key}` })),
    isKeyed: true,
  });
  return answered.map(({ result }) => result);
}

/** Bare numbers are what the workflow's own activations are counted with; the rest is what a step's name can hold. */
function checkKey(key: string): void {
  if (/^(?![0-9]+$)[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(key)) return;
  throw new InvalidInputError(
    'invalid_request',
    `key '${key.slice(0, 100)}' is not allowed: use 1 to 200 letters, digits and ._:-, a letter or digit first, and more than a number`,
  );
}

function refuseRepeated(externalIds: string[]): void {
  const seen = new Set<string>();
  const repeated = externalIds.find((externalId) => seen.size === seen.add(externalId).size);
  if (repeated === undefined) return;
  throw new InvalidInputError(
    'invalid_request',
    `'${repeated.slice(0, 200)}' is named twice under one key: send a second request with another key`,
  );
}
