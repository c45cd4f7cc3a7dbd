import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { ConflictError, InvalidInputError, WaybillError } from '../errors.ts';
import { checkActivations } from '../model/check-activations.ts';
import {
  type Activation,
  type ActivationAnswer,
  type ActivationRequest,
  type ActivationResult,
  InvalidActivationError,
} from '../model/dormant.ts';
import { sdkLimits } from '../sdk-limits.ts';

export {
  type Activation,
  type ActivationResult,
  type ActivationSkipReason,
  type Capability,
  InvalidActivationError,
} from '../model/dormant.ts';

/** What Lambda takes in one synchronous invocation. */
const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024;

/** The activator gives up after a minute. A repeated request finds what the first one did, so the SDK may try again. */
const CLIENT = sdkLimits(70_000);

export interface ActivationClientOptions {
  /** The activator's: `jobs.activatorFunctionName`, to whoever has `jobs.grantActivate(…)`. */
  functionName: string;
  lambda?: Pick<LambdaClient, 'send'>;
}

export interface ActivationClient {
  /** Activates one dormant dependent in the name of the run whose capability is given. */
  activate(request: Omit<ActivationRequest, 'activations'> & Activation): Promise<ActivationResult>;
  /** The same for many, in one transaction: all are judged together, or none is queued. */
  activateMany(request: ActivationRequest): Promise<ActivationResult[]>;
}

/**
 * Activates dormant dependents from another Lambda function, with the capability that a running workflow handed to it (`ctx.dormant.capability()`). Refusals are raised as
 * they would be inside the workflow: {@link InvalidActivationError} for what cannot be activated, `lease_lost` when the workflow no longer runs.
 */
export function createActivationClient({ functionName, lambda = new LambdaClient(CLIENT) }: ActivationClientOptions): ActivationClient {
  async function activateMany({ executionId, leaseToken, key, activations }: ActivationRequest): Promise<ActivationResult[]> {
    checkActivations(activations);
    const answer = await invoke({ executionId, leaseToken, key, activations });
    if (answer.ok) return answer.results;
    throw toError(answer);
  }

  async function invoke(request: ActivationRequest): Promise<ActivationAnswer> {
    const payload = Buffer.from(JSON.stringify(request));
    if (payload.byteLength > MAX_PAYLOAD_BYTES)
      throw new InvalidInputError(
        'invalid_request',
        `the request has ${payload.byteLength} bytes: an invocation takes ${MAX_PAYLOAD_BYTES}, so split it, each part under a key of its own`,
      );
    const { FunctionError, Payload } = await lambda.send(new InvokeCommand({ FunctionName: functionName, Payload: payload }));
    if (FunctionError === undefined && Payload) return JSON.parse(Payload.transformToString()) as ActivationAnswer;
    throw new WaybillError('activator_failed', `the activator failed, its log says why: repeat the request with the same key`, {
      retryable: true,
    });
  }

  return {
    activateMany,
    activate: async ({ externalId, input, ...request }) => (await activateMany({ ...request, activations: [{ externalId, input }] }))[0]!,
  };
}

function toError({ code, message, externalIds }: Extract<ActivationAnswer, { ok: false }>): WaybillError {
  if (code === 'invalid_activation' || code === 'outside_scheduled_run') return new InvalidActivationError(code, message, externalIds);
  if (code === 'lease_lost' || code === 'activation_key_reused') return new ConflictError(code, message);
  return new InvalidInputError(code, message);
}
