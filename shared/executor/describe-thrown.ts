import { NonRetryableError, StepFailedError } from '../errors.ts';
import { toStorableText } from '../model/json.ts';
import type { Failure } from '../transitions/end-runs.ts';
import type { Redact } from './redact.ts';
import { RunAborted } from './run-aborted.ts';
import { readProperty, toPlain } from './to-plain.ts';

const MESSAGE_LENGTH = 4_000;
const STACK_LENGTH = 16_000;
const NAME_LENGTH = 200;
/** How far causes and gathered errors are followed, and how many of the latter. */
const DEPTH = 3;
const BREADTH = 5;

/**
 * What is recorded of anything that can be thrown. Nothing in it can raise: a value that resists being read is recorded as such. Each text is redacted while it is
 * whole and cut afterwards, since half of a secret would not be recognized.
 */
export function describeThrown(thrown: unknown, redact: Redact): Failure {
  try {
    // What was recorded of a step has been through here before.
    if (thrown instanceof StepFailedError)
      return { code: thrown.code, message: thrown.message, stack: thrown.stack, step: thrown.step, isFinal: !thrown.retryable };
    const isFinal = thrown instanceof NonRetryableError || (isError(thrown) && read(thrown, 'name', redact) === 'NonRetryableError');
    const code = thrown instanceof RunAborted ? thrown.code : isFinal ? 'non_retryable' : 'thrown';
    // Where a signal was given says nothing about the workflow.
    const stack =
      isError(thrown) && !(thrown instanceof RunAborted) ? toStorableText(describeStack(thrown, redact), STACK_LENGTH) : undefined;
    return { code, message: toStorableText(describeMessage(thrown, redact), MESSAGE_LENGTH), stack, step: findStep(thrown), isFinal };
  } catch {
    return { code: 'thrown', message: 'a value was thrown that cannot be read', isFinal: false };
  }
}

/** What an error calls itself. */
export function describeName(thrown: unknown): string {
  try {
    return (isError(thrown) && read(thrown, 'name', (text) => text).slice(0, NAME_LENGTH)) || 'Error';
  } catch {
    return 'Error';
  }
}

/** A failure whose message is ours, or a validator's. */
export function describeFailure(failure: Failure, redact: Redact): Failure {
  return { ...failure, message: toStorableText(redact(failure.message), MESSAGE_LENGTH) };
}

function describeMessage(thrown: unknown, redact: Redact, depth = DEPTH): string {
  if (!isError(thrown)) return describeValue(thrown, redact);
  const own = read(thrown, 'message', redact) || read(thrown, 'name', redact) || 'Error';
  if (depth === 0) return own;
  const { causes, leftOut } = listCauses(thrown);
  const texts = causes.map((cause) => describeMessage(cause, redact, depth - 1));
  return texts.length ? `${own} (caused by: ${texts.join('; ')}${leftOut ? `; and ${leftOut} more` : ''})` : own;
}

function describeStack(thrown: object, redact: Redact, depth = DEPTH): string {
  const own = read(thrown, 'stack', redact) || describeMessage(thrown, redact, 0);
  const below = depth === 0 ? [] : listCauses(thrown).causes;
  return [
    own,
    ...below.map((cause) => `caused by: ${isError(cause) ? describeStack(cause, redact, depth - 1) : describeValue(cause, redact)}`),
  ].join('\n');
}

/** The step that a workflow's own error goes back to. */
function findStep(thrown: unknown, depth = DEPTH): string | undefined {
  if (thrown instanceof StepFailedError) return thrown.step;
  if (depth === 0 || !isError(thrown)) return undefined;
  for (const cause of listCauses(thrown).causes) {
    const step = findStep(cause, depth - 1);
    if (step !== undefined) return step;
  }
  return undefined;
}

/** The cause of an error, and the errors that it gathers. */
function listCauses(thrown: object): { causes: unknown[]; leftOut: number } {
  const cause = readProperty(thrown, 'cause');
  const gathered = readProperty(thrown, 'errors');
  const all = [...(cause === undefined ? [] : [cause]), ...(Array.isArray(gathered) ? gathered.slice(0, 1_000) : [])];
  return { causes: all.slice(0, BREADTH), leftOut: Math.max(all.length - BREADTH, 0) };
}

/** As JSON, with the name of its class if it has one of its own. */
function describeValue(value: unknown, redact: Redact): string {
  if (typeof value === 'function') return `a function was thrown: ${redact(String(readProperty(value, 'name') || 'anonymous'))}`;
  if (typeof value !== 'object' || value === null) return toStorableText(redact(String(value)), MESSAGE_LENGTH);
  const className = readProperty(readProperty(value, 'constructor') ?? {}, 'name');
  const json = JSON.stringify(toPlain(value, redact));
  return toStorableText(
    typeof className === 'string' && className && className !== 'Object' ? `${className} ${json}` : json,
    MESSAGE_LENGTH,
  );
}

/** By its shape: an error of another realm is no instance of ours. */
function isError(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (value instanceof Error || typeof readProperty(value, 'stack') === 'string');
}

function read(thrown: object, name: string, redact: Redact): string {
  const value = readProperty(thrown, name);
  return typeof value === 'string' ? toStorableText(redact(value), STACK_LENGTH) : '';
}
