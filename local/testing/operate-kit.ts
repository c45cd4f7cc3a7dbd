import type { ExecutionId } from '../../shared/model/ids.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import type { OperationContext } from '../../shared/operations/context.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { HeldLeases } from './hold-leases.ts';
import type { KnownNames } from './known-names.ts';
import type { TestKit } from './test-kit.ts';

type Operations = Pick<TestKit, 'trigger' | 'runWorkflow' | 'enable' | 'disable' | 'cancel' | 'retryDeadLetter' | 'acknowledgeDeadLetter'>;

/** What a test can ask for: what the API offers to people. */
export function operateKit(context: OperationContext, names: KnownNames, leases: HeldLeases): Operations {
  return {
    trigger: async (manifest, input, options = {}) => trigger(context, { externalId: names.manifest(manifest), input, ...options }),
    runWorkflow: async ({ name }, input, options = {}) => runWorkflow(context, { workflow: names.workflow(name), input, ...options }),
    enable: async (manifest) => enableManifest(context, names.manifest(manifest)),
    disable: async (manifest) => disableManifest(context, names.manifest(manifest)),
    async cancel(executionId) {
      const answer = await cancelExecution(context, executionId);
      if (answer.outcome === 'requested') leases.cancel(Number(executionId) as ExecutionId);
      return answer;
    },
    retryDeadLetter: (id, options) => retryDeadLetter(context, id, options),
    acknowledgeDeadLetter: (id, options) => acknowledgeDeadLetter(context, id, options),
  };
}
