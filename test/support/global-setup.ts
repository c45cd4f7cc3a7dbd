import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { isAlive } from '../../local/postgres/read-process.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../local/postgres/start-embedded-postgres.ts';
import { stopOrphan } from '../../local/postgres/stop-orphan.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that all tests of a run share. Tests make databases of their own on it: see `useDatabase`. */
    databaseUrl: string;
  }
}

export const templateDatabase = 'waybill_template';
const directoryPrefix = 'waybill-postgres-';

/** One Postgres for the whole run, with a migrated database that every test file copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweepKilledRuns();
  const directory = await realpath(await mkdtemp(join(tmpdir(), `${directoryPrefix}${process.pid}-`)));
  let postgres: EmbeddedPostgres | undefined;
  const teardown = async () => {
    await postgres?.stop();
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    postgres = await startEmbeddedPostgres({ dataDirectory: join(directory, 'data'), isDurable: false });
    await createTemplate(postgres.url);
    project.provide('databaseUrl', postgres.url);
    return teardown;
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** Nobody can connect to the finished template, so nobody can stand in the way of its being copied. */
async function createTemplate(databaseUrl: string): Promise<void> {
  const { migrate } = await import('../../shared/db/migrate.ts');
  const templateUrl = new URL(databaseUrl);
  templateUrl.pathname = `/${templateDatabase}`;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`create database ${templateDatabase}`);
    await migrate(templateUrl.href);
    await client.query(`alter database ${templateDatabase} with allow_connections false`);
  } finally {
    await client.end();
  }
}

/** A run that was killed could not tear down: what it left is recognised by the dead process's id in its name. */
async function sweepKilledRuns(): Promise<void> {
  const parent = await realpath(tmpdir());
  for (const name of await readdir(parent)) {
    const processId = Number(name.startsWith(directoryPrefix) && name.slice(directoryPrefix.length).split('-')[0]);
    if (!processId || isAlive(processId)) continue;
    await stopOrphan(join(parent, name, 'data'));
    await rm(join(parent, name), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
