import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import type { Endpoints } from '../../local/data-directory.ts';
import type { ProcessRecord } from '../../local/lambda/left-behind-processes.ts';
import { readProcess } from '../../local/postgres/read-process.ts';
import { isRunning, listTree } from './list-tree.ts';
import { waitFor } from './wait-for.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const SAMPLE_MS = 250;

export interface StartDev {
  /** The module whose default export is the app; a relative path begins at the directory. */
  app: string;
  /** The `waybill` that is started; the clone's, unless the test installed another. */
  command?: string;
  /** Where it is started: in the clone, unless said otherwise. */
  directory?: string;
  dataDirectory: string;
  port?: number | string;
  /** Further arguments. Files are not watched unless the test asks, since other tests may write some while this one runs. */
  options?: string[];
  isWatching?: boolean;
  environment?: Record<string, string>;
  /** For node itself, before the command. */
  nodeOptions?: string[];
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A `waybill dev` as a person starts it, with everything it printed and every process that was seen below it. */
export interface DevProcess {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Gives the address of the API; fails as soon as the process ends instead. */
  untilReady(): Promise<string>;
  /** Resolves with the end of the process, whoever brings it about. */
  readonly ended: Promise<Ended>;
  /** Where it says that it can be reached. */
  readEndpoints(): Endpoints;
  /** All processes below it at this moment. */
  listTree(): Promise<ProcessRecord[]>;
  /** Asks it to stop, as Ctrl-C does, and waits. */
  interrupt(): Promise<Ended>;
  /** Kills the process and nothing else. */
  killAlone(): Promise<void>;
  /** Kills it and every process below it at one instant, as a power cut would. */
  killTree(): Promise<void>;
  /** What was ever seen below it and still runs, with command lines, for a test to compare with nothing. */
  listLeftBehind(): Promise<string[]>;
}

/** Starts of `waybill dev` for the calling file; whatever still runs when its tests are over, or have failed, is killed. */
export function useDev(): { start(options: StartDev): DevProcess } {
  const started: DevProcess[] = [];
  afterAll(async () => {
    for (const dev of started) await dev.killTree();
  });
  return {
    start(options) {
      const dev = startDev(options);
      started.push(dev);
      return dev;
    },
  };
}

function startDev({
  app,
  command = join(root, 'cli/waybill.mjs'),
  directory = root,
  dataDirectory,
  port = 0,
  options = [],
  isWatching = false,
  environment = {},
  nodeOptions = [],
}: StartDev): DevProcess {
  const argv = [app, '--port', String(port), '--data-dir', dataDirectory, ...(isWatching ? [] : ['--no-watch']), ...options];
  const { NODE_OPTIONS: _, FORCE_COLOR: __, ...inherited } = process.env;
  const child = spawn(process.execPath, [...nodeOptions, command, 'dev', ...argv], {
    cwd: directory,
    env: { ...inherited, NO_COLOR: '1', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid!;
  const printed = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      printed[stream] += text;
    });
  }
  const seen = new Map<string, ProcessRecord>();
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const sample = async () => {
    // A pid that has been reaped may be anybody's: nothing is listed, or signalled, once the end is known.
    const records = hasEnded() ? [] : await listTree(pid);
    for (const record of records) seen.set(`${record.pid} ${record.startedAt}`, record);
    return records;
  };
  const sampling = setInterval(() => void sample(), SAMPLE_MS);
  // The end of this process in mid-test would otherwise leave a whole cloud behind; asked politely, it takes itself down.
  const stopWithUs = () => child.kill('SIGTERM');
  process.once('exit', stopWithUs);
  const ended = once(child, 'close').then(([code, signal]): Ended => {
    clearInterval(sampling);
    process.off('exit', stopWithUs);
    return { code, signal };
  });
  const listAlive = async () => {
    const records = [...seen.values()];
    const alive = await Promise.all(records.map(isRunning));
    return records.filter((_record, index) => alive[index]);
  };

  async function killTree(): Promise<void> {
    const stopped = new Map<number, ProcessRecord>();
    // All are stopped before any is killed: nobody can start another, or notice that another is gone.
    signal(hasEnded() ? undefined : pid, 'SIGSTOP');
    for (;;) {
      const fresh = [...(await sample()), ...(await listAlive())].filter((record) => !stopped.has(record.pid));
      if (!fresh.length) break;
      for (const record of fresh) {
        stopped.set(record.pid, record);
        signal(record.pid, 'SIGSTOP');
      }
    }
    for (const each of [hasEnded() ? undefined : pid, ...stopped.keys()]) signal(each, 'SIGKILL');
    await ended;
    await waitFor('the end of every killed process', async () => (await listAlive()).length === 0, { seconds: 10 });
  }

  return {
    pid,
    ended,
    get stdout() {
      return printed.stdout;
    },
    get stderr() {
      return printed.stderr;
    },
    async untilReady() {
      const url = await waitFor('the ready line', () => /^ready (\S+)$/m.exec(printed.stdout)?.[1] ?? (hasEnded() && 'never'), {
        seconds: 150,
        describe: () => printed.stdout + printed.stderr,
      });
      await (url === 'never' ? ended : sample());
      if (url === 'never') throw new Error(`waybill dev ended before it was ready:\n${printed.stdout}${printed.stderr}`);
      return url;
    },
    readEndpoints: () => JSON.parse(readFileSync(join(dataDirectory, 'endpoints.json'), 'utf8')) as Endpoints,
    listTree: sample,
    async interrupt() {
      await sample();
      child.kill('SIGINT');
      return ended;
    },
    async killAlone() {
      await sample();
      child.kill('SIGKILL');
      await ended;
    },
    killTree,
    async listLeftBehind() {
      return Promise.all((await listAlive()).map(async (record) => `${record.pid} ${(await readProcess(record.pid))?.command}`));
    },
  };
}

/** One that is gone already is no error. */
function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
