import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

export interface Measured<Result> {
  result: Result;
  elapsedMs: number;
  /** The time that Postgres spent on statements of this database, commits included: without the client and the way to it. */
  databaseMs: number;
}

/** Times a piece of work from outside and, by pg_stat_statements, from inside. Nothing else may use the database meanwhile. */
export async function timeWork<Result>(database: Database, work: () => Promise<Result>): Promise<Measured<Result>> {
  await database.query(sql`select pg_stat_statements_reset()`);
  const startedAt = performance.now();
  const result = await work();
  const elapsedMs = performance.now() - startedAt;
  const [row] = await database.query<{ databaseMs: number }>(sql`
    select coalesce(sum(total_exec_time + total_plan_time), 0)::float8 as "databaseMs"
      from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where d.datname = current_database() and query not like '%pg_stat_statements%'`);
  return { result, elapsedMs, databaseMs: row!.databaseMs };
}

export function median(values: number[]): number {
  if (!values.length) throw new Error('there is no median of nothing: measure at least once');
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
