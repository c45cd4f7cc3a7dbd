import { startThrowawayPostgres } from '../../local/postgres/start-throwaway-postgres.ts';
import { urlOf } from '../../local/testing/template-database.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';

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

/** A durable Postgres with the settings of the local cloud. */
export async function startBenchServer(): Promise<BenchServer> {
  const { url, pid, stop } = await startThrowawayPostgres({ isDurable: true });
  return { processId: pid, createDatabase: (name) => createDatabase(url, name), stop };
}

/** Names come from this folder, so they need no quoting. */
async function createDatabase(serverUrl: string, name: string): Promise<BenchDatabase> {
  await administer(serverUrl, `create database ${name}`);
  // Planning is half of a small statement's cost, and is not counted unless asked for.
  await administer(serverUrl, `alter database ${name} set pg_stat_statements.track_planning = on`);
  const url = urlOf(serverUrl, name);
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
