import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { LogLevel } from '../observability/log.ts';

export interface LogLine {
  executionId: ExecutionId;
  level: LogLevel;
  message: string;
  /** As JSON text. */
  fieldsText: string | null;
  /** How long ago it was said: lines are written together, and dated by the database's clock. */
  ageMs: number;
}

/** What is kept of one run, over all of its attempts; the log stream has the rest. */
export const MOST_LINES = 1_000;
const THE_REST = `this run has said more than ${MOST_LINES} lines: the rest is in the log stream only`;

/** Appends lines to a run's log, as far as there is room; where there is none any more, one line says so. Gives how many were written. */
export async function writeLogLines(db: Db, runId: ExecutionId, lines: readonly LogLine[]): Promise<number> {
  const written = await db.query(sql`
    with present as (
      select count(*) as count from (select from waybill.execution_log where run_id = ${runId} limit ${MOST_LINES + 1}) line
    )
    insert into waybill.execution_log (execution_id, run_id, logged_at, level, message, fields)
    select l.execution_id, ${runId}, waybill.now() - make_interval(secs => l.age_ms / 1000), l.level,
           case when p.count + l.place > ${MOST_LINES} then ${THE_REST} else l.message end,
           case when p.count + l.place > ${MOST_LINES} then null else l.fields::jsonb end
      from present p,
           unnest(${lines.map((line) => line.executionId)}::bigint[], ${lines.map((line) => line.level)}::waybill.log_level[],
                  ${lines.map((line) => line.message)}::text[], ${lines.map((line) => line.fieldsText)}::text[],
                  ${lines.map((line) => line.ageMs)}::float8[]) with ordinality l (execution_id, level, message, fields, age_ms, place)
     where p.count + l.place <= ${MOST_LINES + 1}
     order by l.place
    returning id`);
  return written.length;
}
