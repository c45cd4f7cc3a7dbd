import type pg from 'pg';
import { isSettingUnknown } from './postgres-errors.ts';

/**
 * No transaction lasts longer. What a row says applies to decisions that began this long after it was changed: one that began earlier may have
 * read the row before the change, and the order of their time stamps does not tell, because those are the instants at which transactions began.
 */
export const LONGEST_TRANSACTION_SECONDS = 30;

type Begin = (client: Pick<pg.PoolClient, 'query'>) => Promise<void>;

/**
 * Begins transactions that the server ends by itself after a while, with their connection. A function that is frozen inside of one, or whose machine dies without a word, would hold its locks, and the
 * manager its lead, for as long as the server believes in the connection, which may be hours. The limit goes with the begin in one round trip, costs nothing that can be measured (a
 * `set_config` takes as long as the begin itself), and ends with the transaction, so that no proxy pins on it.
 *
 * Postgres has a limit for whole transactions from 17 on. An older server refuses the first begin, and is then asked to end those that idle for as long: what was frozen or
 * died idles as soon as the statement under way is over.
 */
export function createBegin(seconds: number): Begin {
  const limitedBy = (setting: string) => `begin; set local ${setting} = '${seconds}s'`;
  let text = seconds > 0 ? limitedBy('transaction_timeout') : 'begin';
  return async (client) => {
    try {
      await client.query(text);
    } catch (error) {
      if (!isSettingUnknown(error)) throw error;
      text = limitedBy('idle_in_transaction_session_timeout');
      await client.query(`rollback; ${text}`);
    }
  };
}
