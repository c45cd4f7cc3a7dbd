import { createHash } from 'node:crypto';
import { InvalidInputError } from '../errors.ts';
import type { Activation } from './dormant.ts';
import { toStorableJson } from './json.ts';

/** What one transaction takes in well under the time that others wait for a lock. */
export const MAX_ACTIVATIONS = 10_000;
/** The same bound as for any input. */
const MAX_INPUT_BYTES = 1024 * 1024;
/** All inputs of one request together: they travel in one statement. */
const MAX_TOTAL_BYTES = 16 * 1024 * 1024;
/** How many mistakes a message lists. */
const MOST_LISTED = 20;

export interface CheckedActivation {
  externalId: string;
  /** As JSON text; null takes the manifest's own. */
  input: string | null;
  /** The same for the same input, in whatever order its keys come. */
  inputHash: string | null;
}

/** Refuses what could not be asked for or stored, naming every dependent whose input it is. Whether an id means anything is the database's question. */
export function checkActivations(activations: readonly Activation[]): CheckedActivation[] {
  if (activations.length > MAX_ACTIVATIONS)
    throw invalid(`${activations.length} activations were asked for: at most ${MAX_ACTIVATIONS} go into one request, split them`);
  // Postgres holds every other character.
  const wrong = activations.find(({ externalId }) => typeof externalId !== 'string' || externalId.includes('\0'));
  if (wrong) throw invalid(`${JSON.stringify(wrong.externalId)} is no externalId: give the id of a manifest as text`);
  const problems: string[] = [];
  const checked = activations.map(({ externalId, input }): CheckedActivation => {
    const problem = findProblem(input);
    if (problem !== undefined) problems.push(`'${externalId}': ${problem}`);
    return problem !== undefined || input === undefined
      ? { externalId, input: null, inputHash: null }
      : { externalId, input: JSON.stringify(input), inputHash: hash(input) };
  });
  if (problems.length) throw new InvalidInputError('invalid_input', `inputs cannot be stored: ${list(problems)}`);
  const bytes = checked.reduce((sum, { input }) => sum + Buffer.byteLength(input ?? ''), 0);
  if (bytes > MAX_TOTAL_BYTES)
    throw invalid(`the inputs are ${bytes} bytes of JSON together: at most ${MAX_TOTAL_BYTES} go into one request, split it`);
  return checked;
}

/** The first of many, and how many are left. */
export function list(texts: readonly string[]): string {
  const rest = texts.length - MOST_LISTED;
  return `${texts.slice(0, MOST_LISTED).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
}

function findProblem(input: unknown): string | undefined {
  if (input === undefined) return undefined;
  const stored = toStorableJson(input, MAX_INPUT_BYTES);
  if ('problem' in stored) return stored.problem;
  // Becomes a prototype in whatever code copies the input key by key. In a JSON text this sequence is always a key: inside a string its quotes would be escaped.
  return /[{,]"__proto__":/.test(stored.text) ? "it contains the key '__proto__', which is not allowed: rename it" : undefined;
}

function hash(input: unknown): string {
  const ordered = JSON.stringify(input, (_, value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(ordered).digest('hex').slice(0, 32);
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError('invalid_request', message);
}
