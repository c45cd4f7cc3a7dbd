import { InvalidInputError } from '../errors.ts';
import type { Activation, ActivationRequest } from '../model/dormant.ts';

/**
 * Takes what came over a wire for a request, or says what was received and what is allowed. A field that is unknown is refused: a misspelt `input` must not mean "the
 * manifest's own". No value is quoted, since it may be a token or an input.
 */
export function readRequest(value: unknown): ActivationRequest {
  const fields = readFields(value, 'the request', ['executionId', 'leaseToken', 'key', 'activations']);
  const { activations } = fields;
  if (!Array.isArray(activations)) throw invalid(`activations must be a list of { externalId, input }, got ${describe(activations)}`);
  return {
    executionId: readText(fields, 'executionId'),
    leaseToken: readText(fields, 'leaseToken'),
    ...(fields.key === undefined ? {} : { key: readText(fields, 'key') }),
    activations: activations.map((one: unknown, index): Activation => {
      const place = `activations[${index}]`;
      const activation = readFields(one, place, ['externalId', 'input']);
      return { externalId: readText(activation, 'externalId', `${place}.`), input: activation.input };
    }),
  };
}

function readFields(value: unknown, place: string, allowed: readonly string[]): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`${place} must be an object, got ${describe(value)}`);
  const unknown = Object.keys(value).find((name) => !allowed.includes(name));
  if (unknown === undefined) return value as Record<string, unknown>;
  throw invalid(`${place} has the field '${unknown.slice(0, 100)}', which is unknown here: allowed are ${allowed.join(', ')}`);
}

function readText(fields: Record<string, unknown>, name: string, place = ''): string {
  const value = fields[name];
  if (typeof value === 'string') return value;
  throw invalid(`${place}${name} must be text, got ${describe(value)}`);
}

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError('invalid_request', message);
}
