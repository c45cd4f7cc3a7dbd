import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { handle } from '../../shared/define/handle.ts';
import { workflow } from '../../shared/define/workflow.ts';
import type { ActivationResult } from '../../shared/model/dormant.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';

const load = workflow({ name: 'load', input: z.object({ batch: z.number(), at: z.string().optional() }), run: () => ({}) });
const bronze = handle(load, 'bronze');

/** Never called: the compiler is the test. */
async function asks({ dormant }: WorkflowContext): Promise<void> {
  expectTypeOf(await dormant.activate(bronze, { batch: 1 })).toEqualTypeOf<ActivationResult>();
  await dormant.activate(bronze);
  await dormant.activate('bronze', { anything: true });
  // @ts-expect-error: a handle knows the input of its workflow
  await dormant.activate(bronze, { batch: '1' });
  // @ts-expect-error: and all of it
  await dormant.activate(bronze, {});
  // @ts-expect-error: many are named by their ids
  await dormant.activateMany(['bronze']);
  const result = await dormant.activate(bronze);
  // @ts-expect-error: what was skipped has no entry
  void result.queueEntryId;
  if (result.outcome === 'skipped')
    expectTypeOf(result.reason).toEqualTypeOf<'already_queued' | 'running' | 'dead_letter' | 'disabled' | 'retiring'>();
}

test('an activation by handle takes the input of its workflow, and a result tells by its outcome what it has', () => {
  expectTypeOf(asks).toBeFunction();
});
