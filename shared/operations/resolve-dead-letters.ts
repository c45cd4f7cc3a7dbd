import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { OperationContext } from './context.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from './resolve-dead-letter.ts';

const MOST_AT_ONCE = 200;

/** What became of one of several: resolved as asked, or refused and why. */
export interface ResolutionResult {
  id: string;
  outcome: 'retried' | 'acknowledged' | 'refused';
  code?: string;
  detail?: string;
}

/** Retries each with the input that failed. */
export function retryDeadLetters(context: OperationContext, ids: string[]): Promise<ResolutionResult[]> {
  return resolveEach(context, ids, 'retried', (one, id) => retryDeadLetter(one, id));
}

/** Puts each aside, all with the same note. */
export function acknowledgeDeadLetters(context: OperationContext, ids: string[], note?: string): Promise<ResolutionResult[]> {
  return resolveEach(context, ids, 'acknowledged', (one, id) => acknowledgeDeadLetter(one, id, { note }));
}

/**
 * Resolves one after the other, each in a transaction of its own, so that one which cannot be resolved holds back no other. Killed, or cut off from the database,
 * half-way, those before are resolved and the others untouched: asking again answers `already_resolved` for the former and resolves the rest.
 * Everything shares one poke at the end; if that is never sent, the manager's next cycle finds what was queued.
 */
async function resolveEach(
  context: OperationContext,
  ids: string[],
  outcome: 'retried' | 'acknowledged',
  resolve: (context: OperationContext, id: string) => Promise<unknown>,
): Promise<ResolutionResult[]> {
  if (ids.length < 1 || ids.length > MOST_AT_ONCE)
    throw new InvalidInputError('invalid_request', `ids must hold 1 to ${MOST_AT_ONCE} ids of dead letters, got ${ids.length}`);
  const results: ResolutionResult[] = [];
  try {
    for (const id of new Set(ids)) {
      results.push(await resolve({ ...context, doorbell: silent(context.doorbell) }, id).then(() => ({ id, outcome }), refusal(id)));
    }
  } finally {
    if (results.some((result) => result.outcome === outcome)) {
      await Promise.all([context.doorbell.pokeDispatcher(), context.doorbell.pokeManager()]);
    }
  }
  return results;
}

function refusal(id: string): (error: unknown) => ResolutionResult {
  return (error) => {
    if (error instanceof NotFoundError || error instanceof ConflictError || error instanceof InvalidInputError)
      return { id, outcome: 'refused', code: error.code, detail: error.message };
    throw error;
  };
}

function silent(doorbell: Doorbell): Doorbell {
  return { ...doorbell, pokeDispatcher: async () => {}, pokeManager: async () => false };
}
