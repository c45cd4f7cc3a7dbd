import { AsyncLocalStorage } from 'node:async_hooks';
import { NonRetryableError } from '../../errors.ts';
import type { Tally } from './end-step.ts';

/** The step whose code is running here, through everything that it awaits. */
export const currentStep = new AsyncLocalStorage<{ path: string; tally: Tally }>();

/** What is inside a step is done again as a whole when the step is; nothing in it could be found by its own name. */
export function refuseInsideStep(what: string): void {
  const step = currentStep.getStore();
  if (step)
    throw new NonRetryableError(`${what} is asked for inside step '${step.path}': ask for it outside, or nest a workflow with ctx.run`);
}

export const emptyTally = (): Tally => ({ itemCount: 0, failedItemCount: 0, warningCount: 0 });
