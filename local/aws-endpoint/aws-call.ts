import type { IncomingHttpHeaders } from 'node:http';
import type { Decision, Statement } from '../iam/evaluate.ts';
import { evaluate } from '../iam/evaluate.ts';
import { type AwsAnswer, AwsError } from './aws-error.ts';

/** Whoever signs requests with one access key: a function of the stack, under its role. */
export interface Caller {
  /** The name that people know the function by. */
  name: string;
  roleArn: string;
  statements: readonly Statement[];
}

/** A call that was not carried out, for the developer to see. */
export interface Refusal {
  functionName: string;
  action: string;
  resource: string;
  /** A policy forbids it, none allows it, or nothing here can do it. */
  reason: 'explicit' | 'implicit' | 'not_emulated';
}

/** One request of a known caller to one service. */
export interface AwsCall {
  caller: Caller;
  service: string;
  /** `SendMessage`; for services that speak in paths, `PUT /some/path`. */
  action: string;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** Aborted when the caller hangs up before it has its answer. */
  hungUp: AbortSignal;
  /** Throws the refusal that AWS would answer, unless the caller's role allows the action on the resource. */
  authorize(action: string, resource: string): void;
  /** The refusal of something that AWS has and the local cloud does not. */
  notEmulated(type: 'NotImplemented' | 'ServiceNotEmulated'): AwsError;
}

export type ServiceHandler = (call: AwsCall) => Promise<AwsAnswer>;

/** Why a decision went against the caller, in the words that AWS uses, with the function added. */
export function accessDenied(caller: Caller, action: string, resource: string, { reason }: Extract<Decision, { decision: 'denied' }>) {
  const why =
    reason === 'explicit'
      ? 'with an explicit deny in an identity-based policy'
      : `because no identity-based policy allows the ${action} action`;
  return new AwsError(
    403,
    'AccessDeniedException',
    `User: ${caller.roleArn} (function ${caller.name}) is not authorized to perform: ${action} on resource: ${resource} ${why}`,
  );
}

/** Judges by the caller's own role and nothing else: queue policies, key policies and boundaries are not consulted. */
export function authorizer(caller: Caller, onRefused: (refusal: Refusal) => void): AwsCall['authorize'] {
  return (action, resource) => {
    const decision = evaluate(caller.statements, { action, resource });
    if (decision.decision === 'allowed') return;
    onRefused({ functionName: caller.name, action, resource, reason: decision.reason });
    throw accessDenied(caller, action, resource, decision);
  };
}

/** The parsed body of a call in AWS's JSON protocols. */
export function readJsonBody({ body }: AwsCall): Record<string, unknown> {
  try {
    const value: unknown = body.length === 0 ? {} : JSON.parse(body.toString('utf8'));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Falls through to the refusal: whether it is no JSON or no object makes no difference to the caller.
  }
  throw new AwsError(400, 'SerializationException', 'the body must be a JSON object');
}
