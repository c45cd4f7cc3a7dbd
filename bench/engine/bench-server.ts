import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../local/postgres/read-process.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../local/postgres/start-embedded-postgres.ts';
import { stopOrphan } from '../../local/postgres/stop-orphan.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';

const directoryPrefix = 'waybill-bench-engine-';

export interface BenchServer {
  /** The postmaster, whose children are all processes of the server. */
  processId: number;
  /** A migrated database of one measurement's own, so that none inherits the pages and statistics of another. */
  createDatabase(name: string): Promise<BenchDatabase>;
  /** Leaves nothing behind. */
  stop(): Promise<void>;
}

export interface BenchDatabase {
  url: string;
  database: Database;
  drop(): Promise<void>;
}

/**
 * A durable Postgres with the settings of the local cloud, in a temporary directory. Killed, it leaves the directory and the server behind; both carry
 * the id of this process, and the next start removes them.
 */
export async function startBenchServer(): Promise<BenchServer> {
  await sweepKilledRuns();
  const directory = await realpath(await mkdtemp(join(tmpdir(), `${directoryPrefix}${process.pid}-`)));
  let postgres: EmbeddedPostgres | undefined;
  const stop = async () => {
    await postgres?.stop();
    await remove(directory);
  };
  try {
    postgres = await startEmbeddedPostgres({ dataDirectory: join(directory, 'data'), isDurable: true });
  } catch (error) {
    await stop();
    throw error;
  }
  const { url, pid } = postgres;
  return { processId: pid, createDatabase: (name) => createDatabase(url, name), stop };
}

/** Names come from this folder, so they need no quoting. */
async function createDatabase(serverUrl: string, name: string): Promise<BenchDatabase> {
  await administer(serverUrl, `create database ${name}`);
  // Planning is half of a small statement's cost, and is not counted unless asked for.
  await administer(serverUrl, `alter database ${name} set pg_stat_statements.track_planning = on`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  await migrate(url);
  const database = openDatabase({ url, maxConnections: 16 });
  await database.query({ text: 'create extension pg_stat_statements', values: [] });
  return {
    url,
    database,
    async drop() {
      await database.close();
      await administer(serverUrl, `drop database ${name} with (force)`);
    },
  };
}

async function administer(serverUrl: string, text: string): Promise<void> {
  const database = openDatabase({ url: serverUrl, maxConnections: 1 });
  try {
    await database.query({ text, values: [] });
  } finally {
    await database.close();
  }
}

async function sweepKilledRuns(): Promise<void> {
  const parent = await realpath(tmpdir());
  for (const name of await readdir(parent)) {
    const processId = Number(name.startsWith(directoryPrefix) && name.slice(directoryPrefix.length).split('-')[0]);
    if (!processId || isAlive(processId)) continue;
    await stopOrphan(join(parent, name, 'data'));
    await remove(join(parent, name));
  }
}

function remove(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
