import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { ownModule } from '../../infra/bundle/package-root.ts';
import { WaybillError } from '../../shared/errors.ts';
import type { DataDirectory } from '../data-directory.ts';
import { signalGroup } from '../lambda/spawn-function.ts';

/** What a child process of ours needs around it: who may give it up, and where it is noted in case we are killed. */
export interface ChildProcessHost {
  signal: AbortSignal;
  processes: Pick<DataDirectory, 'noteProcess' | 'forgetProcess'>;
}

export interface Synthesize extends ChildProcessHost {
  /** The module whose default export is the app. */
  entry: string;
  outputDirectory: string;
}

export interface RunNode extends ChildProcessHost {
  argv: string[];
  environment?: Record<string, string>;
  /** The code of the error that a failure becomes. */
  failureCode: string;
}

const cdkApp = ownModule('infra/app');

/** Synthesizes the stack around an app in a process of its own: loading the CDK takes seconds that this process has better uses for. */
export function synthesize({ entry, outputDirectory, ...host }: Synthesize): Promise<void> {
  // The CDK's own check of the template costs a second; what the template means is found out by running it.
  const environment = { CDK_OUTDIR: outputDirectory, WAYBILL_APP: entry, CDK_VALIDATION: 'false' };
  return runNode({ argv: [cdkApp], environment, failureCode: 'stack_not_synthesized', ...host });
}

/**
 * Runs one of our own modules in a child process; what it wrote on standard error is the reason when it fails.
 *
 * It leads a process group, because it starts others itself, one of which imports the user's modules and may hang in them: given up, all of
 * them end, and only then does this return. If we are killed, it goes on writing for a while; the next start finds it noted and ends it.
 */
export async function runNode({ argv, environment, failureCode, signal, processes }: RunNode): Promise<void> {
  const child = spawn(process.execPath, ['--no-warnings', ...argv], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const { pid } = child;
  const closed = once(child, 'close');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const giveUp = () => signalGroup(pid, 'SIGKILL');
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  try {
    if (pid !== undefined) await processes.noteProcess(pid);
    const [exitCode, exitSignal] = await closed;
    signal.throwIfAborted();
    if (exitCode !== 0) throw new WaybillError(failureCode, said.trim() || `the process ended with ${exitSignal ?? `code ${exitCode}`}`);
  } finally {
    signal.removeEventListener('abort', giveUp);
    if (pid !== undefined) processes.forgetProcess(pid);
  }
}
