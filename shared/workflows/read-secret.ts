import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { messageOf, NonRetryableError, WaybillError } from '../errors.ts';
import { sdkLimits } from '../sdk-limits.ts';

/** Where another attempt meets the same, until somebody changes the secret or the role. */
const FINAL_NAMES = new Set([
  'AccessDeniedException',
  'DecryptionFailure',
  'InvalidParameterException',
  'InvalidRequestException',
  'ResourceNotFoundException',
  'ValidationException',
]);

/**
 * The text of a secret that the function's role may read. Waybill's own database is refused, although executors may read that one: whoever may start a run would otherwise get
 * hold of it through a workflow that takes any secret.
 */
export async function readSecret(id: string, signal: AbortSignal): Promise<string> {
  const client = new SecretsManagerClient(sdkLimits(10_000));
  try {
    const { SecretString, ARN, Name } = await client.send(new GetSecretValueCommand({ SecretId: id }), { abortSignal: signal });
    if (isOwn(id, ARN, Name)) throw new NonRetryableError(`secret '${id}' is Waybill's own and not for workflows: use another`);
    if (SecretString) return SecretString;
    throw new NonRetryableError(`secret '${id}' holds no text: put the value into it`);
  } catch (error) {
    if (error instanceof NonRetryableError) throw error;
    signal.throwIfAborted();
    throw describe(id, error);
  } finally {
    client.destroy();
  }
}

/** The stack may know it by its name, its ARN, or its ARN without the six characters at the end. */
function isOwn(id: string, arn = '', name = ''): boolean {
  const own = process.env.WAYBILL_DATABASE_SECRET_ID;
  return own !== undefined && ([id, arn, name].includes(own) || arn.startsWith(`${own}-`));
}

function describe(id: string, error: unknown): WaybillError {
  const message = `secret '${id}' could not be read: ${messageOf(error)}`;
  if (!(error instanceof Error) || !FINAL_NAMES.has(error.name))
    return new WaybillError('secret_not_readable', message, { retryable: true });
  return new NonRetryableError(`${message}; check its name, and that the pool may read it: secret.grantRead(jobs.pool('…'))`);
}
