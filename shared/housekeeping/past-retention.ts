import { type Sql, sql } from '../db/sql.ts';

/** How far a walk by an instant has come. The instant is Postgres's own text: a JavaScript date would cut its microseconds off. */
export interface PastCursor {
  at: string;
  id: number;
}

export interface PruneBatch {
  retentionDays: number;
  limit: number;
  after?: PastCursor;
}

export interface Pruned {
  count: number;
  /** Where the next batch begins; without it the walk is over. */
  next?: PastCursor;
}

/** Instants are those at which transactions began: what ended in one of them may bear the instant of another that began a little later. */
const SLACK = sql`interval '1 day'`;

/**
 * For rows that were given up at an instant: whether that is so long ago that all history of the time before is past the retention too, and whether a walk in the order of those instants
 * has not seen them yet.
 */
export function pastRetention(retentionDays: number, at: Sql, id: Sql, after?: PastCursor) {
  const cutoff = sql`waybill.now() - make_interval(days => ${retentionDays})`;
  return {
    cutoff,
    isSettled: sql`${at} < ${cutoff} - ${SLACK}`,
    isBehind: sql`(${at}, ${id}) > (coalesce(${after?.at}::timestamptz, '-infinity'), coalesce(${after?.id}::bigint, 0))`,
  };
}
