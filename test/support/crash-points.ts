import type { Database, Db } from '../../shared/db/database.ts';
import type { Sql } from '../../shared/db/sql.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';

/** Thrown where a process is killed, and by everything that the dead process still tries. */
export class Killed extends Error {
  constructor(point: string) {
    super(`killed at ${point}`);
    this.name = 'Killed';
  }
}

/**
 * Every commit, statement and send of one process has a point before and after it. A first run records the points in order; a later one is killed at one of them, and from
 * there on nothing of that process reaches the database or a queue, whatever its code catches.
 */
export interface CrashPoints {
  readonly reached: string[];
  database(real: Database): Database;
  doorbell(real: Doorbell): Doorbell;
}

export interface CrashOptions {
  /** Whether each statement of a transaction has a point before it too: for what relies on being one transaction, and only on that. */
  insideTransactions?: boolean;
}

export function crashPoints(process: string, killAt?: number, { insideTransactions = false }: CrashOptions = {}): CrashPoints {
  const reached: string[] = [];
  let isDead = false;
  function reach(what: string): void {
    const point = `${process}: ${what}`;
    if (!isDead) {
      if (reached.length === killAt) isDead = true;
      reached.push(point);
    }
    if (isDead) throw new Killed(reached[killAt ?? 0] ?? point);
  }
  async function around<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
    reach(`before ${what}`);
    const result = await act();
    reach(`after ${what}`);
    return result;
  }
  const nameOf = ({ text }: Sql) => `statement ${text.trim().slice(0, 40).replace(/\s+/g, ' ')}`;
  async function beforeStatement<Row>(db: Db, statement: Sql): Promise<Row[]> {
    reach(`before ${nameOf(statement)}`);
    return db.query<Row>(statement);
  }
  return {
    reached,
    database: (real) => ({
      transaction: async (work) => {
        reach('before begin');
        const result = await real.transaction(async (db) => {
          const done = await work(insideTransactions ? { query: (statement) => beforeStatement(db, statement) } : db);
          reach('before commit');
          return done;
        });
        reach('after commit');
        return result;
      },
      query: (statement) => around(nameOf(statement), () => real.query(statement)),
      close: () => real.close(),
    }),
    doorbell: (real) => ({
      ringExecutions: (bells) => around('bells', () => real.ringExecutions(bells)),
      pokeDispatcher: (poke) => around('poke of the dispatcher', () => real.pokeDispatcher(poke)),
      pokeManager: (poke) => around('poke of the manager', () => real.pokeManager(poke)),
    }),
  };
}
