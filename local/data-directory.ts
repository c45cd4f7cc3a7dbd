import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { WaybillError } from '../shared/errors.ts';
import { describeProcess, endProcessesLeftBehind, type ProcessRecord } from './lambda/left-behind-processes.ts';

/** Where a running local cloud can be reached, for tools and tests. */
export interface Endpoints {
  api: string;
  database: string;
  sqs: string;
  aws: string;
}

/** Everything that a local cloud keeps between starts, held by one process at a time. */
export interface DataDirectory {
  readonly path: string;
  join(...parts: string[]): string;
  /** Notes a process that leads a group of its own, so that it can be found, and ended with its group, if this process is killed. */
  noteProcess(pid: number): Promise<void>;
  forgetProcess(pid: number): void;
  writeEndpoints(endpoints: Endpoints): void;
  /** Removes what only a running cloud has, and lets go of the lock. */
  close(): void;
}

/**
 * Takes hold of a data directory, creating it if needed, and ends the processes that a killed predecessor left: frozen functions, and a synthesis under way.
 *
 * The lock is SQLite's lock on a file of its own: the operating system releases it with the process, however that ends, and two
 * starters can never both have it, which a file with a pid in it cannot promise.
 */
export async function openDataDirectory(directory: string): Promise<DataDirectory> {
  const path = resolve(directory);
  const lock = takeLock(path);
  const processesFile = join(path, 'processes.json');
  const endpointsFile = join(path, 'endpoints.json');
  const processes = new Map<number, ProcessRecord>();
  const save = () => writeWhole(processesFile, JSON.stringify([...processes.values()]));

  await endProcessesLeftBehind(readRecords(processesFile));
  rmSync(endpointsFile, { force: true });

  return {
    path,
    join: (...parts) => join(path, ...parts),
    async noteProcess(pid) {
      const record = await describeProcess(pid);
      if (!record) return;
      processes.set(pid, record);
      save();
    },
    forgetProcess(pid) {
      if (processes.delete(pid)) save();
    },
    writeEndpoints: (endpoints) => writeWhole(endpointsFile, `${JSON.stringify(endpoints, null, 2)}\n`, 0o600),
    close() {
      rmSync(endpointsFile, { force: true });
      rmSync(processesFile, { force: true });
      lock.close();
    },
  };
}

function takeLock(path: string): DatabaseSync {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new WaybillError('data_directory_unusable', `'${path}' cannot be used as the data directory: choose another with --data-dir`, {
      cause,
    });
  }
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(path, 'lock'));
    lock.exec('pragma locking_mode = exclusive; begin exclusive');
    return lock;
  } catch (cause) {
    lock?.close();
    if (!/locked/.test(String(cause))) {
      throw new WaybillError(
        'data_directory_unusable',
        `'${path}' cannot be used as the data directory (${String(cause)}): choose another with --data-dir`,
        { cause },
      );
    }
    throw new WaybillError(
      'data_directory_in_use',
      `the data directory '${path}' is in use by another waybill dev: stop that one, or choose another directory with --data-dir and another port with --port`,
      { cause },
    );
  }
}

/** Renamed into place: a reader, or a start after a kill, sees the old file or the new one. */
function writeWhole(file: string, text: string, mode = 0o600): void {
  const draft = `${file}.draft`;
  writeFileSync(draft, text, { mode });
  renameSync(draft, file);
}

function readRecords(file: string): ProcessRecord[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord[];
  } catch {
    return [];
  }
}
