import { setTimeout as wait } from 'node:timers/promises';
import type { Caller, Refusal } from '../aws-endpoint/aws-call.ts';
import { LocalSecretStore } from '../aws-endpoint/local-secret-store.ts';
import { startAwsEndpoint } from '../aws-endpoint/start-aws-endpoint.ts';
import type { OnProblem } from '../events/problem.ts';
import type { HttpApi } from '../http-api/http-api.ts';
import { collectRoles } from '../iam/collect-roles.ts';
import { startAsyncInvocations } from '../lambda/async-invocations.ts';
import { type LambdaRuntimeOptions, startLambdaRuntime } from '../lambda/lambda-runtime.ts';
import type { EmbeddedSqs } from '../sqs/embedded-sqs.ts';
import { deploymentOrder } from '../template/deployment-order.ts';
import type { Assembly } from '../template/read-assembly.ts';
import { createResolver } from '../template/resolver.ts';
import { isRecord, type Template } from '../template/template.ts';
import { ACCOUNT, type Deployment, displayNameOf, REGION, type RunningFunction } from './deployment.ts';
import { broughtUp, leftOut, partOfOthers } from './resource-table.ts';

/** How long a stop waits for runs under way. */
const GRACE_MS = 3_000;

export interface CloudOptions {
  assembly: Assembly;
  sqs: EmbeddedSqs;
  httpApi: HttpApi;
  /** Becomes the value of every secret that a Waybill construct calls its database's URL. */
  databaseUrl: string;
  onLog: LambdaRuntimeOptions['onLog'];
  onProcess: NonNullable<LambdaRuntimeOptions['onProcess']>;
  onRefused(refusal: Refusal): void;
  onProblem: OnProblem;
}

/** What a Waybill construct says of itself in the template's metadata. */
export interface DescribedConstruct {
  path: string;
  databaseUrlSecretName: string;
  executorFunctionNames: string[];
  syncFunctionName: string;
}

export interface Cloud {
  readonly awsEndpointUrl: string;
  readonly functions: RunningFunction[];
  /** The Waybill constructs of the stack, with the names of those functions whose code is the app's. */
  readonly constructs: DescribedConstruct[];
  /** Resources that nothing here can run, by the name people gave them. */
  readonly notRun: { name: string; type: string }[];
  /** What is left out knowingly: how many of a type, and what that means. */
  readonly leftOut: { type: string; count: number; meaning: string }[];
  /** What AWS would take into account in a role and the local cloud does not. */
  readonly unchecked: string[];
  /** What deploy triggers answered, by the function's logical id. */
  readonly triggered: ReadonlyMap<string, unknown>;
  stop(): Promise<void>;
}

/**
 * Boots a synthesized stack: each resource in the order in which CloudFormation would create it, deploy triggers at their place. If one
 * fails, what was started is ended again before the error is raised.
 */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { assembly, sqs, httpApi, onProblem, onRefused } = options;
  const { template } = assembly;
  const callers = new Map<string, Caller>();
  const functions: Deployment['functions'] = new Map();
  const asyncInvocations = startAsyncInvocations(onProblem);
  const secrets = new LocalSecretStore({ region: REGION, account: ACCOUNT });
  const endpoint = await startAwsEndpoint({
    region: REGION,
    account: ACCOUNT,
    callers: () => callers,
    sqsUrl: sqs.url,
    secrets,
    lambda: { functions: () => functions, asyncInvocations },
    onRefused,
  });
  const runtime = await startLambdaRuntime({
    awsEndpointUrl: endpoint.url,
    region: REGION,
    onLog: options.onLog,
    onProcess: options.onProcess,
  });
  const sources: Deployment['sources'] = [asyncInvocations];

  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= end());

  /** Sources end first and runs under way may finish; what takes longer is cut short, which recovery sees as a crash. */
  async function end(): Promise<void> {
    httpApi.update([]);
    await Promise.race([Promise.allSettled(sources.map((source) => source.stop())), wait(GRACE_MS, undefined, { ref: false })]);
    await runtime.close();
    await Promise.allSettled(sources.map((source) => source.stop()));
    await endpoint.close();
  }

  try {
    const resolver = createResolver({
      template,
      stackName: assembly.stackName,
      account: ACCOUNT,
      region: REGION,
      awsEndpointUrl: endpoint.url,
      httpApiUrl: httpApi.url,
    });
    const providers = triggerProviders(template);
    const isLocal = (logicalId: string) => resolver.exists(logicalId) && !providers.has(logicalId);
    const roles = collectRoles(template, resolver, (logicalId) => !providers.has(logicalId));
    const { constructs = [] } = (resolver.resolve(template.Metadata?.Waybill ?? {}, 'Metadata.Waybill') ?? {}) as {
      constructs?: DescribedConstruct[];
    };
    for (const { databaseUrlSecretName } of constructs) secrets.put(databaseUrlSecretName, options.databaseUrl);
    const deployment: Deployment = {
      assembly,
      resolver,
      roles,
      runtime,
      sqs,
      awsEndpointUrl: endpoint.url,
      secrets,
      callers,
      functions,
      routes: [],
      sources,
      triggered: new Map(),
      onProblem,
      onRefused,
    };
    const notRun: Cloud['notRun'] = [];
    for (const logicalId of deploymentOrder(template).filter(isLocal)) {
      const { Type: type } = template.Resources[logicalId]!;
      const isRun =
        (await broughtUp[type]?.(deployment, logicalId)) !== 'not_run' && (type in broughtUp || partOfOthers.has(type) || type in leftOut);
      if (!isRun) notRun.push({ name: displayNameOf(deployment, logicalId), type });
    }
    httpApi.update(deployment.routes);
    return {
      awsEndpointUrl: endpoint.url,
      functions: [...deployment.functions.values()],
      constructs,
      notRun,
      leftOut: countLeftOut(template),
      unchecked: [...roles.values()].flatMap(({ unchecked }) => unchecked),
      triggered: deployment.triggered,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The CDK's own function behind deploy triggers, and its role: triggers are run natively, so these are not needed. */
function triggerProviders({ Resources }: Template): Set<string> {
  const functionIds = Object.values(Resources).flatMap(({ Type, Properties }) =>
    Type === 'Custom::Trigger' ? referencedBy(Properties?.ServiceToken) : [],
  );
  return new Set(functionIds.flatMap((id) => [id, ...referencedBy(Resources[id]?.Properties?.Role)]));
}

function referencedBy(value: unknown): string[] {
  const attribute = isRecord(value) ? value['Fn::GetAtt'] : undefined;
  return Array.isArray(attribute) ? [String(attribute[0])] : [];
}

function countLeftOut({ Resources }: Template): Cloud['leftOut'] {
  return Object.entries(leftOut).flatMap(([type, meaning]) => {
    const count = Object.values(Resources).filter(({ Type }) => Type === type).length;
    return count ? [{ type, count, meaning }] : [];
  });
}
