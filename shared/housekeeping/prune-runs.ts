import type { Db } from '../db/database.ts';
import { isInTree, isOfRun } from '../db/queries/of-run.ts';
import { type Sql, sql } from '../db/sql.ts';

/** How far a walk over ended runs has come. The instant is Postgres's own text: a JavaScript date would cut its microseconds off. */
export interface RunCursor {
  finishedAt: string;
  id: number;
}

export interface PruneRuns {
  retentionDays: number;
  /** The executions that one transaction removes at most; a single run that has more goes alone. */
  limit: number;
  after?: RunCursor;
}

interface EndedAttempt extends RunCursor {
  runId: number;
}

/**
 * Removes the oldest runs behind the cursor, each as a whole: all attempts, the executions below them, steps, logs and resolved dead letters. A run stays
 * while any of its executions is unfinished or young, its next attempt is queued, or a dead letter of it awaits a person; the cursor goes past it, so that what must
 * stay never keeps the rest from going. No `next` means that the walk is over.
 */
export async function pruneRuns(db: Db, { retentionDays, limit, after }: PruneRuns): Promise<{ count: number; next?: RunCursor }> {
  const cutoff = sql`waybill.now() - make_interval(days => ${retentionDays})`;
  const ended = await lockEndedAttempts(db, cutoff, limit, after);
  const sizes = await measureRemovableRuns(db, cutoff, [...new Set(ended.map(({ runId }) => runId))]);
  const { runIds, last } = takeRuns(ended, sizes, limit);
  const next = last === ended.at(-1) && ended.length < limit ? undefined : last;
  return { count: await removeRuns(db, runIds), next };
}

/** First attempts and retries that ended long ago. One that somebody holds is left for another day. */
function lockEndedAttempts(db: Db, cutoff: Sql, limit: number, after?: RunCursor): Promise<EndedAttempt[]> {
  return db.query<EndedAttempt>(sql`
    select id, run_id as "runId", finished_at::text as "finishedAt" from waybill.execution
     where parent_id is null and finished_at < ${cutoff}
       and (finished_at, id) > (coalesce(${after?.finishedAt}::timestamptz, '-infinity'), coalesce(${after?.id}::bigint, 0))
     order by finished_at, id limit ${limit} for update skip locked`);
}

/** The number of executions of each run that may go; judged after the locks, because what was true before them may not be any more. */
async function measureRemovableRuns(db: Db, cutoff: Sql, runIds: number[]): Promise<Map<number, number>> {
  if (!runIds.length) return new Map();
  const runs = await db.query<{ runId: number; executionCount: number }>(sql`
    select run.id as "runId", count(*) as "executionCount"
      from unnest(${runIds}::bigint[]) run (id)
      join waybill.execution root on ${isOfRun(sql`root`, sql`run.id`)} and root.parent_id is null
      join waybill.execution e on ${isInTree(sql`e`, sql`root.id`)}
     where not exists (select from waybill.work_queue w where w.run_id = run.id and w.status = 'queued')
       and not exists (select from waybill.dead_letter d where d.run_id = run.id and d.status = 'awaiting_intervention')
     group by run.id
    having bool_and(coalesce(e.finished_at < ${cutoff}, false))`);
  return new Map(runs.map(({ runId, executionCount }) => [runId, executionCount]));
}

/** As many runs as fit, and the attempt up to which they were looked at. */
function takeRuns(ended: EndedAttempt[], sizes: Map<number, number>, limit: number): { runIds: number[]; last?: EndedAttempt } {
  const taken = new Set<number>();
  let total = 0;
  let last: EndedAttempt | undefined;
  for (const attempt of ended) {
    const size = taken.has(attempt.runId) ? 0 : (sizes.get(attempt.runId) ?? 0);
    if (total > 0 && total + size > limit) break;
    if (size > 0) taken.add(attempt.runId);
    total += size;
    last = attempt;
  }
  return { runIds: [...taken], last };
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
