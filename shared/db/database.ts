import pg from 'pg';
import type { Clock } from '../time/clock.ts';
import { isTransactionRestartable } from './postgres-errors.ts';
import { type Sql, sql } from './sql.ts';

/** Runs statements. Inside {@link Database.transaction} all of them share its snapshot rules and its fate. */
export interface Db {
  /** Gives the rows; for a write these are what `returning` names. */
  query<Row>(statement: Sql): Promise<Row[]>;
}

/** A database to which transactions can be sent. */
export interface Database extends Db {
  transaction<Result>(work: (db: Db) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  maxConnections?: number;
  /** Replaces the database's clock (waybill.now()), transaction by transaction. For tests and the test kit only. */
  clock?: Clock;
}

// bigint columns hold counts and identity ids; both stay far below 2^53, where numbers are exact.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

const RESTARTS = 3;

export function openDatabase({ url, maxConnections = 2, clock }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: 40_000,
    idleTimeoutMillis: 60_000,
    allowExitOnIdle: true,
    application_name: 'waybill',
  });
  // An idle connection that the server ends raises here; the next query opens another.
  pool.on('error', () => {});

  async function once<Result>(work: (db: Db) => Promise<Result>): Promise<Result> {
    const client = await pool.connect();
    let isBroken: Error | undefined;
    try {
      await client.query('begin');
      if (clock) await client.query('select set_config($1, $2, true)', ['waybill.now', clock.now().toISOString()]);
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

  return {
    transaction,
    query: (statement) => (clock ? transaction((db) => db.query(statement)) : over(pool).query(statement)),
    close: () => pool.end(),
  };
}

function over(client: pg.Pool | pg.PoolClient): Db {
  return {
    async query<Row>({ text, values }: Sql) {
      return (await client.query(text, values as unknown[])).rows as Row[];
    },
  };
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
