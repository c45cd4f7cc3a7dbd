import { Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import type { WaybillDatabase } from './database.ts';
import type { Process } from './process.ts';

/** What `Metadata.Waybill.constructs` of the template lists. */
interface Description {
  readonly path: string;
  readonly databaseUrlSecretName: string;
  /** The functions whose code depends on the app alone: a change in the app replaces it there, without another synth. */
  readonly executorFunctionNames: readonly string[];
  readonly syncFunctionName: string;
}

export interface Described {
  readonly database: WaybillDatabase;
  readonly executors: readonly Process[];
  readonly sync: Process;
}

/**
 * Tells the local cloud, in the template's metadata, which constructs to run, what of them is the app's, and which secret stands for its own database: an imported secret
 * leaves no resource from which it could be guessed.
 */
export function describeToLocalCloud(scope: Construct, { database, executors, sync }: Described): void {
  const stack = Stack.of(scope);
  const { constructs = [] } = (stack.templateOptions.metadata?.Waybill ?? {}) as { constructs?: Description[] };
  const description: Description = {
    path: scope.node.path,
    databaseUrlSecretName: database.secretName,
    executorFunctionNames: executors.map((process) => process.function.functionName),
    syncFunctionName: sync.function.functionName,
  };
  stack.addMetadata('Waybill', { constructs: [...constructs, description] });
}
