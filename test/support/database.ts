import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { templateDatabase } from './global-setup.ts';

export type TestDatabase = { readonly url: string; readonly pool: pg.Pool };

/** A migrated database of the calling file's (or describe block's) own, dropped after its tests. */
export function useDatabase(): TestDatabase {
  return useDatabaseFrom(templateDatabase);
}

/** The same without our schema, for tests of what creates it. */
export function useEmptyDatabase(): TestDatabase {
  return useDatabaseFrom('template0');
}

function useDatabaseFrom(template: string): TestDatabase {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  let pool: pg.Pool | undefined;
  beforeAll(async () => {
    await copyDatabase(template, name);
    pool = new pg.Pool({ connectionString: urlOf(name) });
    // An idle connection that a test cuts on purpose is replaced by the pool; without a listener it would end the process.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool?.end();
    await administer(`drop database if exists ${name} with (force)`);
  });
  return {
    get url() {
      return urlOf(name);
    },
    get pool() {
      if (!pool) throw new Error('the database exists only inside tests and hooks: read its pool there');
      return pool;
    },
  };
}

/** A template cannot be copied while anybody is connected to it, which an autovacuum worker may be for a moment. */
async function copyDatabase(template: string, name: string): Promise<void> {
  const deadlineAt = Date.now() + 30_000;
  while (true) {
    try {
      await administer(`create database ${name} template ${template}`);
      return;
    } catch (error) {
      if ((error as pg.DatabaseError).code !== '55006' || Date.now() > deadlineAt) throw error;
      await delay(50);
    }
  }
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function urlOf(name: string): string {
  const url = new URL(inject('databaseUrl'));
  url.pathname = `/${name}`;
  return url.href;
}
