import type { Db } from '../db/database.ts';
import { isInTree, isOfRun } from '../db/queries/of-run.ts';
import { type Sql, sql } from '../db/sql.ts';
import type { PastCursor, PruneBatch, Pruned } from './past-retention.ts';

interface EndedAttempt extends PastCursor {
  runId: number;
}

/** What an execution weighs, with all its indexes, as against a step or a line of its log. */
const EXECUTION_WEIGHT = 10;

/**
 * Removes the oldest runs behind the cursor, each as a whole: all attempts, the executions below them, steps, logs and resolved dead letters. A run stays
 * while any of its executions is unfinished or young, its next attempt is queued, or a dead letter of it awaits a person; the cursor goes past it, so that what must
 * stay never keeps the rest from going. A batch has as many executions as its limit says, or ten times as many of the rows below them; a single run that has more goes alone.
 */
export async function pruneRuns(db: Db, { retentionDays, limit, after }: PruneBatch): Promise<Pruned> {
  const cutoff = sql`waybill.now() - make_interval(days => ${retentionDays})`;
  const ended = await findEndedAttempts(db, cutoff, limit, after);
  const { runIds, last } = await takeRuns(db, cutoff, ended, limit * EXECUTION_WEIGHT);
  const next = last === ended.at(-1) && ended.length < limit ? undefined : last;
  return { count: await removeRuns(db, await findForgotten(db, runIds)), next };
}

/** First attempts and retries that ended long ago. */
function findEndedAttempts(db: Db, cutoff: Sql, limit: number, after?: PastCursor): Promise<EndedAttempt[]> {
  return db.query<EndedAttempt>(sql`
    select id, run_id as "runId", finished_at::text as at from waybill.execution
     where parent_id is null and finished_at < ${cutoff}
       and (finished_at, id) > (coalesce(${after?.at}::timestamptz, '-infinity'), coalesce(${after?.id}::bigint, 0))
     order by finished_at, id limit ${limit}`);
}

/**
 * As many runs as have ended and fit, and the attempt up to which they were looked at. It looks at one, then at two more, at four more, so that heavy runs are not held and counted over
 * and over by transactions in which only the first of them fits.
 */
async function takeRuns(db: Db, cutoff: Sql, ended: EndedAttempt[], most: number): Promise<{ runIds: number[]; last?: EndedAttempt }> {
  const taken = new Set<number>();
  let total = 0;
  let last: EndedAttempt | undefined;
  for (let from = 0, count = 1; from < ended.length; from += count, count *= 2) {
    const looked = ended.slice(from, from + count);
    const weights = await weighEndedRuns(db, cutoff, [...new Set(looked.map(({ runId }) => runId))]);
    for (const attempt of looked) {
      const weight = taken.has(attempt.runId) ? 0 : (weights.get(attempt.runId) ?? 0);
      if (total > 0 && total + weight > most) return { runIds: [...taken], last };
      if (weight > 0) taken.add(attempt.runId);
      total += weight;
      last = attempt;
    }
  }
  return { runIds: [...taken], last };
}

/**
 * Holds runs by all of their attempts, and weighs those that have ended long ago as a whole; judged after the locks, because what was true before them may not be any more. Whoever goes on with a run holds
 * the attempt that it goes on from, so a run of which not every attempt could be held is left for another day.
 */
async function weighEndedRuns(db: Db, cutoff: Sql, runIds: number[]): Promise<Map<number, number>> {
  const held = await db.query<{ id: number }>(sql`
    select root.id
      from unnest(${runIds}::bigint[]) run (id)
      join waybill.execution root on ${isOfRun(sql`root`, sql`run.id`)} and root.parent_id is null
     order by root.id for update of root skip locked`);
  const runs = await db.query<{ runId: number; weight: number }>(sql`
    select run.id as "runId", ${EXECUTION_WEIGHT} * count(*) + sum(part.count)::bigint as weight
      from unnest(${runIds}::bigint[]) run (id)
      join waybill.execution root on ${isOfRun(sql`root`, sql`run.id`)} and root.parent_id is null
      join waybill.execution e on ${isInTree(sql`e`, sql`root.id`)}
     cross join lateral (
       select (select count(*) from waybill.execution_step s where s.execution_id = e.id)
              + (select count(*) from waybill.execution_log l where l.execution_id = e.id) as count) part
     group by run.id
    having bool_and(coalesce(e.finished_at < ${cutoff}, false) and root.id = any(${held.map(({ id }) => id)}::bigint[]))`);
  return new Map(runs.map(({ runId, weight }) => [runId, weight]));
}

/** Those of the held runs that nothing will go on with. Asked once for all of them, since no index leads from a run to its entries: it reads what is queued. */
async function findForgotten(db: Db, runIds: number[]): Promise<number[]> {
  if (!runIds.length) return [];
  const runs = await db.query<{ id: number }>(sql`
    select run.id
      from unnest(${runIds}::bigint[]) run (id)
     where not exists (select from waybill.work_queue w where w.run_id = run.id and w.status = 'queued' and w.group_id is not null)
       and not exists (select from waybill.dead_letter d where d.run_id = run.id and d.status = 'awaiting_intervention')`);
  return runs.map(({ id }) => id);
}

async function removeRuns(db: Db, runIds: number[]): Promise<number> {
  if (!runIds.length) return 0;
  const rows = await db.query<{ id: number }>(sql`
    select e.id
      from unnest(${runIds}::bigint[]) run (id)
      join waybill.execution root on ${isOfRun(sql`root`, sql`run.id`)} and root.parent_id is null
      join waybill.execution e on ${isInTree(sql`e`, sql`root.id`)}`);
  const ids = rows.map(({ id }) => id);
  await db.query(sql`delete from waybill.execution_log where execution_id = any(${ids}::bigint[])`);
  await db.query(sql`delete from waybill.execution_step where execution_id = any(${ids}::bigint[])`);
  await db.query(sql`delete from waybill.dead_letter where status <> 'awaiting_intervention' and execution_id = any(${ids}::bigint[])`);
  return (await db.query(sql`delete from waybill.execution where id = any(${ids}::bigint[]) returning id`)).length;
}
