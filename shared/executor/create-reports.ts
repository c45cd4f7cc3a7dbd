import { toStorableText } from '../model/json.ts';
import type { WorkflowContext } from '../model/workflow.ts';
import { describeThrown } from './describe-thrown.ts';
import { currentStep } from './steps/current-step.ts';
import type { Body, RunParts } from './steps/run-parts.ts';
import { toWhole } from './to-whole.ts';

const LONGEST_KEY = 200;
const LONGEST_MESSAGE = 500;

/**
 * How a workflow tells how far it is and how its items fared. Inside of a step, what it tells is counted with the step and recorded with its end, so that a step which is not run again is
 * still counted, and one that is run again counts once. Outside, it is told anew by every invocation, and the last one counts.
 */
export function createReports(parts: RunParts, { tally, log }: Body): Pick<WorkflowContext, 'progress' | 'item' | 'warn'> {
  const redact = (text: string, longest: number) => toStorableText(parts.createRedact()(String(text)), longest);
  const current = () => currentStep.getStore()?.tally ?? tally;
  return {
    progress(done, total, message) {
      parts.reportProgress({
        done: toWhole(done),
        total: toWhole(total),
        message: message === undefined ? undefined : redact(message, LONGEST_MESSAGE),
      });
    },
    item(key, error) {
      const counts = current();
      counts.itemCount++;
      if (error === undefined) return;
      counts.failedItemCount++;
      log.warn(`item '${redact(key, LONGEST_KEY)}' failed: ${describeThrown(error, parts.createRedact()).message}`);
    },
    warn(message) {
      current().warningCount++;
      log.warn(message);
    },
  };
}
