import type pg from 'pg';
import type { Clock } from '../time/clock.ts';
import type { Sql } from './sql.ts';

/**
 * What a session may keep that nobody else will ever use: the test kit's. Elsewhere the clock ends with its transaction and no statement has a name, since connections are shared, and pinned by
 * proxies that see either. Of the time that a small database takes, most is planning: with plans that are made once, a month of an hourly job takes half as long.
 */
export const OWN_SESSION_OPTIONS = '-c plan_cache_mode=force_generic_plan';

const told = new WeakMap<pg.PoolClient, string>();
const names = new Map<string, string>();

/** Puts the session on the clock, where it stays until the clock has moved. Outside of transactions, because a rollback would take it back. */
export async function tellTime(client: pg.PoolClient, clock: Clock): Promise<void> {
  const now = clock.now().toISOString();
  if (told.get(client) === now) return;
  await client.query('select set_config($1, $2, false)', ['waybill.now', now]);
  told.set(client, now);
}

/** The statement under the one name that its text has in every session. */
export function toPrepared({ text, values }: Sql): pg.QueryConfig {
  const name = names.get(text) ?? `statement_${names.size + 1}`;
  names.set(text, name);
  return { name, text, values: values as unknown[] };
}
