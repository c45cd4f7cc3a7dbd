import type { PutResult } from '../define/put-manifests.ts';
import type { RuntimeManifest } from '../define/read-runtime-manifest.ts';
import type { RemovedManifest } from '../operations/remove-manifest.ts';
import type { RunWorkflow } from '../operations/run-workflow.ts';
import type { TriggerResult } from '../operations/trigger.ts';

export interface TriggerOptions {
  input?: unknown;
  delaySeconds?: number;
}

export type RunOptions = Omit<RunWorkflow, 'workflow' | 'input'>;

/** How a client reaches the scheduler. Whichever way, the same rules judge what it asks, and refuse with the same codes. */
export interface Transport {
  put(manifests: RuntimeManifest[]): Promise<PutResult[]>;
  trigger(externalId: string, options: TriggerOptions): Promise<TriggerResult>;
  run(workflow: string, input: unknown, options: RunOptions): Promise<{ queueEntryId: string }>;
  cancel(executionId: string): Promise<{ outcome: 'cancelled' | 'requested' }>;
  enable(externalId: string): Promise<void>;
  disable(externalId: string): Promise<void>;
  remove(externalId: string): Promise<RemovedManifest>;
  close(): Promise<void>;
}
