import { NonRetryableError } from '../errors.ts';
import type { InputSchema } from './described-input.ts';

/**
 * Where a secret is, in place of the secret itself: inputs are stored, deployed and shown to people. Either a secret of Secrets Manager that the pool may read, by its name or
 * ARN and, where it holds JSON, the field that counts; or an environment variable of the pool.
 */
export type SecretReference = { secret: string; key?: string } | { environment: string };

export const REFERENCE_FORMS = "{ secret: 'name or ARN', key? } or { environment: 'NAME' }";

const secret: InputSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 2048,
  description: 'The name or ARN of a secret in Secrets Manager',
};
const key: InputSchema = { type: 'string', minLength: 1, maxLength: 200, description: 'The field of a secret that holds JSON' };
/** The function's own credentials and settings are nobody's input. */
const environment: InputSchema = {
  type: 'string',
  pattern: '^(?!AWS_|WAYBILL_)[A-Za-z][A-Za-z0-9_]{0,199}$',
  description: 'An environment variable of the pool, but none of AWS_ and WAYBILL_',
};

/** The forms of a reference, each with the fields that are allowed beside it. */
export function referenceSchemas(beside: Readonly<Record<string, InputSchema>> = {}): InputSchema[] {
  return [
    { type: 'object', properties: { secret, key, ...beside }, required: ['secret'], additionalProperties: false },
    { type: 'object', properties: { environment, ...beside }, required: ['environment'], additionalProperties: false },
  ];
}

/** The secret as it is now; it is read for each run, so that a rotated one is used at once. */
export async function readReference(reference: SecretReference, signal: AbortSignal): Promise<string> {
  if ('environment' in reference) return readEnvironment(reference.environment);
  // What only some workflows need is not loaded by an app that is merely evaluated.
  const { readSecret } = await import('./read-secret.ts');
  const text = await readSecret(reference.secret, signal);
  return reference.key === undefined ? text : readField(text, reference.secret, reference.key);
}

/** A reference as people may see it. */
export function describeReference(reference: SecretReference): string {
  return 'environment' in reference ? `environment variable ${reference.environment}` : `secret '${reference.secret}'`;
}

function readEnvironment(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new NonRetryableError(`environment variable ${name} is not set: add it to the environment of the pool that runs this, and deploy`);
}

function readField(text: string, id: string, name: string): string {
  const value = parse(text)?.[name];
  if (typeof value === 'string' && value) return value;
  throw new NonRetryableError(`secret '${id}' has no text under the key '${name}': it must hold JSON with that field`);
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
