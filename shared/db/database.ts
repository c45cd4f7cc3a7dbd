import pg from 'pg';
import type { Clock } from '../time/clock.ts';
import { createBegin, LONGEST_TRANSACTION_SECONDS } from './begin.ts';
import { columnTypes } from './column-types.ts';
import { OWN_SESSION_OPTIONS, tellTime, toPrepared } from './own-session.ts';
import { isConnectionLost, isTransactionRestartable } from './postgres-errors.ts';
import { type Sql, sql } from './sql.ts';

/** Runs statements. Inside {@link Database.transaction} all of them share its fate. */
export interface Db {
  /** Gives the rows; for a write these are what `returning` names. */
  query<Row>(statement: Sql): Promise<Row[]>;
}

/**
 * A database to which transactions can be sent. A function is frozen between invocations and learns only by using it that a pooled connection is gone,
 * so a transaction that could not begin is begun on another one, and a single statement, which must be safe to repeat, is sent again.
 */
export interface Database extends Db {
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  maxConnections?: number;
  /** After this the server ends a transaction, see {@link createBegin}. 0 is never: for migrations, and for the test kit, whose transactions may stand still in a debugger. */
  transactionSeconds?: number;
  /** Replaces the database's clock (waybill.now()), transaction by transaction. For tests and the test kit only. */
  clock?: Clock;
  /** See {@link tellTime} and {@link toPrepared}. For the test kit only: connection proxies pin on both. */
  hasOwnSessions?: boolean;
}

const RESTARTS = 3;

export function openDatabase({
  url,
  maxConnections = 2,
  clock,
  hasOwnSessions = false,
  transactionSeconds = hasOwnSessions ? 0 : LONGEST_TRANSACTION_SECONDS,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: 40_000,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    application_name: 'waybill',
    types: columnTypes,
    ...(hasOwnSessions && { options: OWN_SESSION_OPTIONS }),
  });
  const over = (client: pg.Pool | pg.PoolClient) => runOver(client, hasOwnSessions ? toPrepared : toPlain);
  const enter = async (client: pg.PoolClient) => {
    if (clock && hasOwnSessions) await tellTime(client, clock);
  };
  // An idle connection that the server ends raises here; the next query opens another.
  pool.on('error', () => {});
  // One that it ends in the middle of a transaction raises on the connection itself, which would end the process; the next statement rejects anyway.
  pool.on('connect', (client) => client.on('error', () => {}));

  const begin = createBegin(transactionSeconds);

  async function once<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    const client = await connect(pool, async (candidate) => {
      await enter(candidate);
      await begin(candidate);
    });
    let isBroken: Error | undefined;
    try {
      if (clock && !hasOwnSessions) await client.query('select set_config($1, $2, true)', ['waybill.now', clock.now().toISOString()]);
      const result = await work(over(client));
      await commit(client);
      return result;
    } catch (error) {
      isBroken = await rollback(client);
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  async function transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    for (let restart = 0; ; restart++) {
      try {
        return await once(work);
      } catch (error) {
        if (restart >= RESTARTS || !isTransactionRestartable(error)) throw error;
      }
    }
  }

  async function query<Row>(statement: Sql): Promise<Row[]> {
    if (clock && !hasOwnSessions) return transaction((db) => db.query<Row>(statement));
    const ask = () => (hasOwnSessions ? inSession<Row>(statement) : over(pool).query<Row>(statement));
    return passingLost(Math.max(pool.idleCount, 1), ask);
  }

  async function inSession<Row>(statement: Sql): Promise<Row[]> {
    const client = await pool.connect();
    let isBroken = false;
    try {
      await enter(client);
      return await over(client).query<Row>(statement);
    } catch (error) {
      isBroken = isConnectionLost(error);
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  return { transaction, query, close: () => pool.end() };
}

/** A connection inside a new transaction. One that died in the pool is thrown away; the last to be tried is a fresh one. */
function connect(pool: pg.Pool, begin: (client: pg.PoolClient) => Promise<void>): Promise<pg.PoolClient> {
  return passingLost(pool.idleCount, async () => {
    const client = await pool.connect();
    try {
      await begin(client);
      return client;
    } catch (error) {
      client.release(error instanceof Error ? error : true);
      throw error;
    }
  });
}

/** Tries once more for every connection that may turn out to be lost: all those in the pool have been idle through the same freeze. */
async function passingLost<Result>(lostAtMost: number, attempt: () => Promise<Result>): Promise<Result> {
  for (let left = lostAtMost; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left <= 0 || !isConnectionLost(error)) throw error;
    }
  }
}

function runOver(client: pg.Pool | pg.PoolClient, toQuery: (statement: Sql) => pg.QueryConfig): Db {
  return {
    async query<Row>(statement: Sql) {
      return (await client.query(toQuery(statement))).rows as Row[];
    },
  };
}

function toPlain({ text, values }: Sql): pg.QueryConfig {
  return { text, values: values as unknown[] };
}

/** node-postgres resolves a COMMIT that Postgres answered with ROLLBACK; silence here would be a lost write. */
async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('commit');
  if (command !== 'COMMIT')
    throw new Error(`the transaction was not committed: postgres answered ${command}, because a statement in it had failed`);
}

/** A connection that cannot even roll back is not given to the next caller. */
async function rollback(client: pg.PoolClient): Promise<Error | undefined> {
  try {
    await client.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The instant that every statement of this transaction sees as now. */
export async function readNow(db: Db): Promise<Date> {
  const [row] = await db.query<{ now: Date }>(sql`select waybill.now() as now`);
  if (!row) throw new Error('postgres did not tell the time');
  return row.now;
}
