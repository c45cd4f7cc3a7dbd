import { afterAll, beforeEach } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { type PruneOptions, prune } from '../../shared/housekeeping/prune.ts';
import { plantIn } from '../operations/plant.ts';
import { type TestDatabase, useDatabase } from '../support/database.ts';

export const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);

/** Longer ago than the retention with which these tests prune. */
export const OLD = daysAgo(100);

/** The columns of an execution that failed before the retention. */
export const failed = { state: 'failed', failure_code: 'thrown', finished_at: OLD, created_at: OLD };

export interface Housekeeping {
  server: TestDatabase;
  database: Database;
  plant: ReturnType<typeof plantIn>;
  /** Prunes what is older than ninety days. */
  run(options?: Partial<PruneOptions>): ReturnType<typeof prune>;
  /** The ids of what is left in a table, in the order in which it was planted. */
  left(table: string): Promise<string[]>;
}

/** A database for the calling file to plant rows in and to prune. These tables, and what refers to them, are empty at the beginning of every test. */
export function useHousekeeping(...tables: string[]): Housekeeping {
  const server = useDatabase();
  const database = openDatabase({ url: server.url });
  afterAll(() => database.close());
  beforeEach(() => server.pool.query(`truncate ${tables.map((table) => `waybill.${table}`).join(', ')} cascade`));
  return {
    server,
    database,
    // The pool exists only inside tests and hooks.
    plant: plantIn({ query: (text, values) => server.pool.query(text, values) }),
    run: (options = {}) => prune(database, { retentionDays: 90, ...options }),
    async left(table) {
      const { rows } = await server.pool.query(`select t.id::text from waybill.${table} t order by t.id`);
      return rows.map(({ id }) => id);
    },
  };
}
