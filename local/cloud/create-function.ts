import { mayAssume } from '../iam/may-assume.ts';
import { LambdaFunction } from '../lambda/lambda-function.ts';
import { addCaller, type Deployment, displayNameOf } from './deployment.ts';

/** What a new account allows in all; a function that needs more would be throttled there too. */
const ACCOUNT_CONCURRENCY = 10;

interface FunctionProperties {
  Role: string;
  Handler: string;
  Runtime: string;
  Timeout?: number;
  MemorySize?: number;
  Code: { S3Bucket?: unknown; S3Key?: unknown };
  Environment?: { Variables?: Record<string, string> };
  ReservedConcurrentExecutions?: number;
}

export function createFunction(deployment: Deployment, logicalId: string): void {
  const { resolver, roles, assembly, runtime, functions } = deployment;
  const properties = resolver.resolveResource(logicalId).properties as unknown as FunctionProperties;
  const displayName = displayNameOf(deployment, logicalId);
  if (!properties.Runtime?.startsWith('nodejs')) {
    throw new Error(`function ${displayName} needs the runtime '${properties.Runtime}': only nodejs runtimes run locally`);
  }
  const accessKeyId = addCaller(deployment, displayName, properties.Role);
  if (!mayAssume(roles.get(properties.Role)!, 'lambda.amazonaws.com')) {
    throw new Error(`function ${displayName} cannot use its role: the role's trust policy does not name lambda.amazonaws.com`);
  }
  const arn = String(resolver.attribute(logicalId, 'Arn'));
  const settings = {
    name: String(resolver.ref(logicalId)),
    arn,
    codeDirectory: assembly.assetDirectory(properties.Code),
    handler: properties.Handler,
    timeoutSeconds: Number(properties.Timeout ?? 3),
    memoryMegabytes: Number(properties.MemorySize ?? 128),
    environment: Object.fromEntries(Object.entries(properties.Environment?.Variables ?? {}).map(([name, value]) => [name, String(value)])),
    maxConcurrency: Number(properties.ReservedConcurrentExecutions ?? ACCOUNT_CONCURRENCY),
    accessKeyId,
  };
  const lambda = new LambdaFunction(settings, runtime);
  functions.set(arn, { logicalId, displayName, settings, lambda });
}
