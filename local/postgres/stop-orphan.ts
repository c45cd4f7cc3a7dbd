import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readProcess } from './read-process.ts';

export const stopTimeoutSeconds = 10;

/** What a server is started with so that it can be recognised later: the directory it serves, and the process that started it. */
export function identifyingArguments(dataDirectory: string): string[] {
  return ['-D', dataDirectory, '-c', `cluster_name=waybill-${process.pid}`];
}

/**
 * Stops the server that a killed process left running on this directory. A process is signalled only if its command line says that it is our Postgres on
 * this very directory: process ids are reused, and the one in a stale `postmaster.pid` may by now be anybody. A server whose starter is still
 * its parent is no orphan but in use, and is refused.
 *
 * Returns the process id that `postmaster.pid` names when no such server runs, because Postgres takes whoever has that id for a rival.
 */
export async function stopOrphan(dataDirectory: string, log: (line: string) => void = () => {}): Promise<number | undefined> {
  const processId = await readPostmasterId(dataDirectory);
  if (processId === undefined) return undefined;
  const server = await readServer(processId, dataDirectory);
  if (!server) return processId;
  if (server.parentId === server.starterId) {
    throw new Error(
      `the database in ${dataDirectory} is in use by process ${server.starterId}: stop that process, or choose another directory with --data-dir`,
    );
  }
  log(`stopping postgres ${processId}, left running on ${dataDirectory} by a process that was killed`);
  const killAt = Date.now() + stopTimeoutSeconds * 1000;
  let signal: NodeJS.Signals | 0 = 'SIGINT';
  while (await readServer(processId, dataDirectory)) {
    sendSignal(processId, signal);
    signal = Date.now() > killAt ? 'SIGKILL' : 0;
    await delay(20);
  }
  return readPostmasterId(dataDirectory);
}

async function readPostmasterId(dataDirectory: string): Promise<number | undefined> {
  const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
  const processId = Number.parseInt(text, 10);
  return processId > 0 ? processId : undefined;
}

async function readServer(processId: number, dataDirectory: string) {
  const found = await readProcess(processId);
  const [before, after] = found?.command.split(` -D ${dataDirectory} -c cluster_name=waybill-`) ?? [];
  if (!found || !before?.endsWith('postgres') || after === undefined) return undefined;
  return { parentId: found.parentId, starterId: Number.parseInt(after, 10) };
}

function sendSignal(processId: number, signal: NodeJS.Signals | 0): void {
  try {
    process.kill(processId, signal);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return;
    throw new Error(`cannot stop the postgres with process id ${processId}, which belongs to another user: stop it as that user`, {
      cause,
    });
  }
}
