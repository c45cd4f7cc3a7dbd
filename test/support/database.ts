import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { copyDatabase, dropDatabase, templateDatabase, urlOf } from '../../local/testing/template-database.ts';
import { columnTypes } from '../../shared/db/column-types.ts';

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
    await copyDatabase(inject('databaseUrl'), name, template);
    pool = new pg.Pool({ connectionString: urlOf(inject('databaseUrl'), name), types: columnTypes });
    // An idle connection that a test cuts on purpose is replaced by the pool; without a listener it would end the process.
    pool.on('error', () => {});
  });
  afterAll(async () => {
    await pool?.end();
    await dropDatabase(inject('databaseUrl'), name);
  });
  return {
    get url() {
      return urlOf(inject('databaseUrl'), name);
    },
    get pool() {
      if (!pool) throw new Error('the database exists only inside tests and hooks: read its pool there');
      return pool;
    },
  };
}
