import { access } from 'node:fs/promises';
import { describe, expect, inject, it } from 'vitest';
import { useDatabase, useEmptyDatabase } from '../../support/database.ts';
import { useTemporaryDirectory } from '../../support/temporary-directory.ts';

const hasSchema = `select exists (select 1 from pg_namespace where nspname = 'waybill') as "hasSchema"`;

describe('a test database', () => {
  const first = useDatabase();
  const second = useDatabase();
  const empty = useEmptyDatabase();

  it('is migrated', async () => {
    expect((await first.pool.query(hasSchema)).rows).toEqual([{ hasSchema: true }]);
  });

  it('is not migrated when an empty one is asked for', async () => {
    expect((await empty.pool.query(hasSchema)).rows).toEqual([{ hasSchema: false }]);
  });

  it('is not seen by the users of another', async () => {
    await first.pool.query('create table seen_by_first ()');
    const { rows } = await second.pool.query(`select to_regclass('seen_by_first') as found`);
    expect(rows).toEqual([{ found: null }]);
  });

  it('leaves the template closed to connections', async () => {
    const { rows } = await first.pool.query(`select datallowconn from pg_database where datname = 'waybill_template'`);
    expect(rows).toEqual([{ datallowconn: false }]);
    expect(new URL(first.url).host).toBe(new URL(inject('databaseUrl')).host);
  });
});

describe('a temporary directory', () => {
  let leftover = '';

  describe('during its tests', () => {
    const directory = useTemporaryDirectory();
    it('exists', async () => {
      leftover = directory.path;
      await expect(access(leftover)).resolves.toBeUndefined();
    });
  });

  it('is gone after them', async () => {
    await expect(access(leftover)).rejects.toThrow('ENOENT');
  });
});
