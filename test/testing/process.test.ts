import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { isReachedByAll } from '../support/is-reached-by-all.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const temporary = useTemporaryDirectory();
const script = join(import.meta.dirname, 'kit-process.ts');
const children: ChildProcess[] = [];
/** Where the servers of one test live, and nobody else's. */
let place = '';

beforeEach(async ({ task }) => {
  place = join(await realpath(temporary.path), task.id);
  await mkdir(place);
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await untilNothingIsLeft();
});

const listServers = () => readdir(place);
const untilNothingIsLeft = () =>
  waitFor('neither files nor processes', async () => (await listServers()).length === 0 && listProcesses().length === 0, {
    seconds: 30,
    describe: () => JSON.stringify(listProcesses()),
  });

/** A process with a kit, once it is ready. */
async function startProcess(mode: 'leave' | 'stay', environment: object = {}): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', TMPDIR: place, ...environment },
  });
  children.push(child);
  const isReady = await Promise.race([once(child.stdout!, 'data').then(() => true), once(child, 'exit').then(() => false)]);
  if (!isReady) throw new Error('the process ended before its kit was ready');
  return child;
}

/** The processes whose command line names the test's directory. */
function listProcesses(): { id: number; command: string }[] {
  const lines = execFileSync('ps', ['-ww', '-eo', 'pid=,command='], { encoding: 'utf8' }).split('\n');
  return lines.filter((line) => line.includes(place)).map((line) => ({ id: Number.parseInt(line, 10), command: line }));
}

describe('the server of a kit that was never closed', () => {
  it('does not keep its process from ending, and ends with it', async () => {
    const child = await startProcess('leave');
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(0);
    await untilNothingIsLeft();
  });

  it.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('ends with a process that is ended by %s', async (signal) => {
    const child = await startProcess('stay');
    expect(await listServers()).toHaveLength(1);
    child.kill(signal);
    await once(child, 'exit');
    await untilNothingIsLeft();
  });

  it('ends with its thread', async () => {
    const thread = new Worker(script, { env: { ...process.env, TMPDIR: place }, execArgv: [], stdout: true });
    await once(thread, 'message');
    expect(await listServers()).toHaveLength(1);
    await thread.terminate();
    await untilNothingIsLeft();
  });

  it('is swept by the next start, if what should have ended it was killed as well', async () => {
    const child = await startProcess('stay');
    const [left] = await listServers();
    const watch = listProcesses().filter(({ command }) => command.includes('waybill-watch'));
    expect(watch).toHaveLength(1);
    process.kill(watch[0]!.id, 'SIGKILL');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const next = await startProcess('stay');
    expect(await listServers()).toHaveLength(1);
    expect(await listServers()).not.toContain(left);
    next.kill();
    await once(next, 'exit');
  });

  it.runIf(process.getuid?.() === 0 && isReachedByAll(packageRoot))('runs where root has to become another user for it', async () => {
    await chmod(temporary.path, 0o711);
    const programs = join(temporary.path, 'programs');
    await mkdir(programs);
    for (const name of ['setpriv', 'true']) await symlink(`/usr/bin/${name}`, join(programs, name));
    const child = await startProcess('stay', { PATH: programs });
    expect(await listServers()).toHaveLength(1);
    child.kill();
    await once(child, 'exit');
  });
});
