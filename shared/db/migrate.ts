import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WaybillError } from '../errors.ts';
import { type Database, type Db, openDatabase } from './database.ts';
import { sql } from './sql.ts';

interface Migration {
  name: string;
  text: string;
  checksum: string;
}

/**
 * Brings the schema up to date, forward only. Each migration commits together with its own record under an advisory
 * transaction lock, so of twenty racing migrators exactly one applies it, and one killed half-way leaves nothing of it.
 * A database that is ahead of this code (a rollback) is left as it is: migrations expand before they contract.
 */
export async function migrate(databaseUrl: string, directory = join(import.meta.dirname, 'migrations')): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(directory);
  // A large table takes as long as it takes, and whoever waits for the lock waits for another's migration.
  const database = openDatabase({ url: databaseUrl, maxConnections: 1, transactionSeconds: 0 });
  try {
    const applied: string[] = [];
    for (const migration of migrations) {
      if (await applyOnce(database, migration)) applied.push(migration.name);
    }
    return { applied };
  } finally {
    await database.close();
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name)).sort();
  if (!names.length) throw new WaybillError('migrations_missing', `no migrations were found in '${directory}': the bundle is incomplete`);
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(directory, name), 'utf8');
      return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
    }),
  );
}

function applyOnce(database: Database, { name, text, checksum }: Migration): Promise<boolean> {
  return database.transaction(async (db) => {
    // The lock comes first: a snapshot taken before it would not see what the previous holder committed.
    await db.query(sql`select pg_advisory_xact_lock(hashtextextended(${'waybill:migrate'}, 0))`);
    await prepareRecord(db);
    const [known] = await db.query<{ checksum: string }>(sql`select checksum from waybill.migration where name = ${name}`);
    if (known && known.checksum !== checksum) {
      throw new WaybillError(
        'migration_changed',
        `migration '${name}' was applied with other contents: never edit a migration, add the next one`,
      );
    }
    if (known) return false;
    await db.query({ text, values: [] });
    await db.query(sql`insert into waybill.migration (name, checksum) values (${name}, ${checksum})`);
    return true;
  });
}

async function prepareRecord(db: Db): Promise<void> {
  await db.query(sql`create schema if not exists waybill`);
  await db.query(sql`
    create table if not exists waybill.migration (
      name       text primary key,
      checksum   text not null,
      applied_at timestamptz not null default now()
    )`);
}
