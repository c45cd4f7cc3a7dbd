import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';

/** Migrated once per server and copied from then on: a copy takes a third of the time. */
export const templateDatabase = 'waybill_template';

const copyTimeoutSeconds = 30;

/** Nobody can connect to the finished template, so nobody can stand in the way of its being copied. */
export async function createTemplate(serverUrl: string): Promise<void> {
  await administer(serverUrl, `create database ${templateDatabase}`);
  await migrate(urlOf(serverUrl, templateDatabase));
  await administer(serverUrl, `alter database ${templateDatabase} with allow_connections false`);
}

/**
 * Copies a template that cannot be copied while anybody is connected to it, which an autovacuum worker may be for a moment. Its files are copied as they are: through the log, which is the
 * default, it takes up to twice as long. Names come from the callers' code, so they need no quoting.
 */
export async function copyDatabase(serverUrl: string, name: string, template = templateDatabase): Promise<void> {
  const giveUpAt = Date.now() + copyTimeoutSeconds * 1000;
  while (true) {
    try {
      return await administer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
    } catch (error) {
      if ((error as { code?: string }).code !== '55006' || Date.now() > giveUpAt) throw error;
      await delay(50);
    }
  }
}

export function dropDatabase(serverUrl: string, name: string): Promise<void> {
  return administer(serverUrl, `drop database if exists ${name} with (force)`);
}

/** The address of another database on the same server. */
export function urlOf(serverUrl: string, name: string): string {
  return Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
}

async function administer(serverUrl: string, text: string): Promise<void> {
  const database = openDatabase({ url: serverUrl, maxConnections: 1 });
  try {
    await database.query({ text, values: [] });
  } finally {
    await database.close();
  }
}
