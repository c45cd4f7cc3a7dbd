import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { WaybillError } from '../../shared/errors.ts';

export interface Synthesize {
  /** The module whose default export is the app. */
  entry: string;
  outputDirectory: string;
  signal: AbortSignal;
}

const cdkApp = fileURLToPath(new URL('../../infra/app.ts', import.meta.url));

/** Synthesizes the stack around an app in a process of its own: loading the CDK takes seconds that this process has better uses for. */
export function synthesize({ entry, outputDirectory, signal }: Synthesize): Promise<void> {
  return runNode([cdkApp], { CDK_OUTDIR: outputDirectory, WAYBILL_APP: entry }, signal, 'stack_not_synthesized');
}

/** Runs one of our own modules in a child process; what it wrote on standard error is the reason when it fails. */
export function runNode(argv: string[], environment: Record<string, string>, signal: AbortSignal, code: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--no-warnings', ...argv], {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'ignore', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    child.on('error', reject);
    child.on('close', (exitCode, exitSignal) => {
      if (exitCode === 0) resolve();
      else reject(new WaybillError(code, said.trim() || `the process ended with ${exitSignal ?? `code ${exitCode}`}`));
    });
  });
}
