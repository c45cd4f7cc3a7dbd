import { paint } from './paint.ts';

/** The line that an executor logs when a run has reached an outcome. */
interface RunEnd {
  message: 'run ended';
  executionId: string;
  manifest: string | null;
  workflow: string;
  state: string;
  attempt: number;
  runningMs: number;
  failureMessage: string | null;
  next: 'retry' | 'dead_letter' | null;
}

export function isRunEnd(line: unknown): line is RunEnd {
  return typeof line === 'object' && line !== null && (line as RunEnd).message === 'run ended';
}

/** One line per finished run, so that a glance tells what happened and what follows. */
export function describeRun({ executionId, manifest, workflow, state, attempt, runningMs, failureMessage, next }: RunEnd): string {
  const isGood = state === 'completed' || state === 'completed_with_warnings';
  const mark = isGood ? paint.green('✓') : state === 'cancelled' ? paint.yellow('○') : paint.red('✗');
  const follows = next === 'retry' ? ', will be retried' : next === 'dead_letter' ? paint.red(', dead-lettered') : '';
  const time = new Date().toLocaleTimeString('en-GB');
  const name = manifest ?? workflow;
  return `${paint.dim(time)} ${mark} ${name} ${paint.dim(`#${executionId}`)} ${state}${attempt > 1 ? ` at attempt ${attempt}` : ''} in ${runningMs} ms${failureMessage ? `: ${failureMessage.split('\n')[0]}` : ''}${follows}`;
}
