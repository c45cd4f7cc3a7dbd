import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Caller } from '../aws-endpoint/aws-call.ts';
import type { LocalSecretStore } from '../aws-endpoint/local-secret-store.ts';
import type { OnProblem } from '../events/problem.ts';
import type { Route } from '../http-api/route.ts';
import type { Role } from '../iam/collect-roles.ts';
import type { FunctionSettings } from '../lambda/function-settings.ts';
import type { LambdaFunction } from '../lambda/lambda-function.ts';
import type { LambdaRuntime } from '../lambda/lambda-runtime.ts';
import type { EmbeddedSqs } from '../sqs/embedded-sqs.ts';
import { deriveToken } from '../template/derived-ids.ts';
import type { Assembly } from '../template/read-assembly.ts';
import type { Resolver } from '../template/resolver.ts';

export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

/** A function of the stack and the process pool that stands for it. */
export interface RunningFunction {
  logicalId: string;
  /** The path of its construct below the stack, which is the name people gave it. */
  displayName: string;
  settings: FunctionSettings;
  lambda: LambdaFunction;
}

/** A stack while it is brought up, resource by resource, and afterwards while it runs. */
export interface Deployment {
  readonly assembly: Assembly;
  readonly resolver: Resolver;
  readonly roles: ReadonlyMap<string, Role>;
  readonly runtime: LambdaRuntime;
  readonly sqs: EmbeddedSqs;
  readonly awsEndpointUrl: string;
  readonly secrets: LocalSecretStore;
  readonly callers: Map<string, Caller>;
  /** By ARN. */
  readonly functions: Map<string, RunningFunction>;
  readonly routes: Route[];
  /** What invokes functions by itself: mappings and schedules. */
  readonly sources: { stop(): Promise<void> }[];
  /** The answers of deploy triggers, by the logical id of the function. */
  readonly triggered: Map<string, unknown>;
  readonly onProblem: OnProblem;
  readonly onRefused: (refusal: {
    functionName: string;
    action: string;
    resource: string;
    reason: 'explicit' | 'implicit' | 'not_emulated';
  }) => void;
}

/** A caller of the local AWS endpoint, known there by an access key of its own, so that its role is what decides. */
export function addCaller({ callers, roles }: Deployment, name: string, roleArn: string): string {
  const role = roles.get(roleArn);
  if (!role)
    throw new Error(`${name} runs under '${roleArn}', which is no role of the template: only roles of the stack can be checked locally`);
  const accessKeyId = `LOCAL${deriveToken(name, 15, 'upperCase')}`;
  callers.set(accessKeyId, { name, roleArn, statements: role.statements });
  return accessKeyId;
}

/** Sends to a queue as a caller of the stack, through the endpoint that checks its role. */
export function senderTo({ awsEndpointUrl }: Deployment, accessKeyId: string, queueArn: string) {
  const client = new SQSClient({ endpoint: awsEndpointUrl, region: REGION, credentials: { accessKeyId, secretAccessKey: 'local' } });
  const QueueUrl = `${awsEndpointUrl}/${ACCOUNT}/${queueArn.split(':').at(-1)}`;
  return async (MessageBody: string, attributes: Record<string, string>): Promise<void> => {
    const MessageAttributes = Object.fromEntries(
      Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
    );
    await client.send(new SendMessageCommand({ QueueUrl, MessageBody, MessageAttributes }));
  };
}

/** The name people gave a resource: its construct path below the stack, without the parts that the CDK adds. */
export function displayNameOf({ assembly }: Pick<Deployment, 'assembly'>, logicalId: string): string {
  const path = assembly.template.Resources[logicalId]?.Metadata?.['aws:cdk:path'];
  if (typeof path !== 'string') return logicalId;
  const parts = path.split('/').slice(1);
  while (parts.length > 1 && ['Resource', 'Default', 'Function', 'Schedule'].includes(parts.at(-1)!)) parts.pop();
  return parts.join('/');
}

/** The function that an ARN means, with or without a version behind it. */
export function functionByArn({ functions }: Pick<Deployment, 'functions'>, arn: string, place: string): RunningFunction {
  const found = functions.get(arn.split(':').slice(0, 7).join(':'));
  if (!found) throw new Error(`${place} names the function '${arn}', which is not part of the stack`);
  return found;
}
