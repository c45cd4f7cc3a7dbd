import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { migrate } from '../../shared/db/migrate.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/dump-schema.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';

const server = useEmptyDatabase();
const temporary = useTemporaryDirectory();
const own = join(import.meta.dirname, '../../shared/db/migrations');
let directoryCount = 0;

beforeEach(() => server.pool.query('drop schema if exists waybill cascade'));

/** A directory of migrations, by file name. */
async function plant(files: Record<string, string>): Promise<string> {
  const directory = join(temporary.path, String(++directoryCount));
  await mkdir(directory);
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(directory, name), text)));
  return directory;
}

async function tables(): Promise<string[]> {
  const { rows } = await server.pool.query(`select tablename from pg_tables where schemaname = 'waybill' order by 1`);
  return rows.map(({ tablename }) => tablename);
}

const first = { '0001-first.sql': 'create table waybill.first (id bigint); insert into waybill.first values (1);' };
const second = { '0002-second.sql': 'create table waybill.second (id bigint);' };

it('twenty racing migrators all succeed and apply each migration exactly once', async () => {
  const reports = await Promise.all(Array.from({ length: 20 }, () => migrate(server.url)));
  const applied = reports.flatMap((report) => report.applied);
  expect(applied.sort()).toEqual((await readdir(own)).sort());
  const { rows } = await server.pool.query('select name from waybill.migration order by name');
  expect(rows.map(({ name }) => name)).toEqual(applied);
  expect((await server.pool.query('select count(*) from waybill.capacity')).rows).toEqual([{ count: 1 }]);
});

it('migrating again applies nothing and changes nothing', async () => {
  await migrate(server.url);
  const before = await dumpSchema(server.pool);
  const recorded = await server.pool.query('select * from waybill.migration order by name');
  expect(await migrate(server.url)).toEqual({ applied: [] });
  expect(await dumpSchema(server.pool)).toBe(before);
  expect((await server.pool.query('select * from waybill.migration order by name')).rows).toEqual(recorded.rows);
});

it('applies migrations in the order of their numbers, and later only what is new', async () => {
  expect(await migrate(server.url, await plant({ ...second, ...first }))).toEqual({ applied: ['0001-first.sql', '0002-second.sql'] });
  const third = { '0003-third.sql': 'alter table waybill.second add note text;' };
  expect(await migrate(server.url, await plant({ ...first, ...second, ...third }))).toEqual({ applied: ['0003-third.sql'] });
});

it('refuses a migration whose contents changed after it was applied, and applies nothing behind it', async () => {
  await migrate(server.url, await plant(first));
  const changed = await plant({ '0001-first.sql': `${first['0001-first.sql']} -- edited`, ...second });
  await expect(migrate(server.url, changed)).rejects.toMatchObject({
    code: 'migration_changed',
    message: "migration '0001-first.sql' was applied with other contents: never edit a migration, add the next one",
  });
  expect(await tables()).toEqual(['first', 'migration']);
});

it('leaves a database that is ahead of the code as it is', async () => {
  await migrate(server.url, await plant({ ...first, ...second }));
  expect(await migrate(server.url, await plant(first))).toEqual({ applied: [] });
  expect(await tables()).toEqual(['first', 'migration', 'second']);
});

it('a migration that fails half-way leaves nothing of it, keeps those before it, and can be applied once it is mended', async () => {
  const broken = { '0002-second.sql': 'create table waybill.second (id bigint); insert into waybill.first values (2); select 1 / 0;' };
  await expect(migrate(server.url, await plant({ ...first, ...broken }))).rejects.toThrow('division by zero');
  expect(await tables()).toEqual(['first', 'migration']);
  expect((await server.pool.query('select id from waybill.first')).rows).toEqual([{ id: 1 }]);
  expect((await server.pool.query('select name from waybill.migration')).rows).toEqual([{ name: '0001-first.sql' }]);
  expect(await migrate(server.url, await plant({ ...first, ...second }))).toEqual({ applied: ['0002-second.sql'] });
});

it('a migrator that is killed half-way leaves nothing of its migration', async () => {
  const directory = await plant({ '0001-first.sql': 'create table waybill.first (id bigint); select pg_sleep(30);' });
  const migrating = migrate(server.url, directory).catch((error: unknown) => error);
  await expect
    .poll(
      async () => {
        const { rows } = await server.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
        );
        return rows.length;
      },
      { timeout: 10_000 },
    )
    .toBe(1);
  expect(await migrating).toBeInstanceOf(Error);
  expect(await tables()).toEqual([]);
  expect(await migrate(server.url, await plant(first))).toEqual({ applied: ['0001-first.sql'] });
});

it('says so when a bundle came without its migrations', async () => {
  await expect(migrate(server.url, await plant({ 'notes.txt': '' }))).rejects.toMatchObject({ code: 'migrations_missing' });
});
