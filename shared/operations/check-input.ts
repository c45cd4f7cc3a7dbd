import { InvalidInputError } from '../errors.ts';
import { toStorableJson } from '../model/json.ts';

/** What one input may weigh: it travels in a row, an event and a form. */
export const MAX_INPUT_BYTES = 1024 * 1024;

/**
 * Refuses an input that could not be stored or handed to a workflow; undefined means that none was given. A key `__proto__` is data to JSON, but becomes an object's
 * prototype in whatever code copies the input key by key, so no workflow gets to see one.
 */
export function checkInput(input: unknown): void {
  if (input === undefined) return;
  const stored = toStorableJson(input, MAX_INPUT_BYTES);
  if ('problem' in stored) throw new InvalidInputError('invalid_input', `the input cannot be stored: ${stored.problem}`);
  // In a JSON text this sequence is always a key: inside a string its quotes would be escaped.
  if (/[{,]"__proto__":/.test(stored.text))
    throw new InvalidInputError('invalid_input', "the input contains the key '__proto__', which is not allowed: rename it");
}

/** At most what SQS and people can still mean by "later": a year. */
export function checkDelaySeconds(delaySeconds: number): void {
  if (Number.isInteger(delaySeconds) && delaySeconds >= 0 && delaySeconds <= 31_536_000) return;
  throw new InvalidInputError('invalid_request', `delaySeconds must be a whole number from 0 to 31536000 (one year), got ${delaySeconds}`);
}
