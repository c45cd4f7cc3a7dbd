import type { Db } from '../../db/database.ts';
import { sql } from '../../db/sql.ts';
import type { ExecutionId } from '../../model/ids.ts';
import { heldLease, type Lease } from './held-lease.ts';

export interface StepPlace {
  runId: ExecutionId;
  /** The execution that the step belongs to: the holder of the lease, or a run that is nested in it. */
  executionId: ExecutionId;
  path: string;
  /** Its place among the steps of the run, in the order in which they were first begun. */
  sequence: number;
}

/**
 * Notes that a step, or a nested run, begins. One that was begun before and did not end well begins again. It is awaited before the step's own code runs: killed in between,
 * nothing was done and the next attempt begins it again; killed later, the row says `running` and the next attempt begins it again as well.
 * False means that the lease is lost.
 */
export async function startStep(db: Db, lease: Lease, { kind, ...place }: StepPlace & { kind: 'step' | 'run' }): Promise<boolean> {
  const started = await db.query(sql`
    with held as (${heldLease(lease)})
    insert into waybill.execution_step (execution_id, run_id, name, kind, sequence, state, started_at)
    select ${place.executionId}::bigint, ${place.runId}::bigint, ${place.path}, ${kind}::waybill.step_kind, ${place.sequence}::integer, 'running', waybill.now()
      from held
        on conflict (run_id, name) do update
       set execution_id = excluded.execution_id, kind = excluded.kind, state = 'running', started_at = excluded.started_at, finished_at = null, output = null,
           failure_code = null, failure_name = null, failure_message = null, failure_stack = null
     where execution_step.state <> 'completed'
    returning id`);
  return started.length > 0;
}

export interface StartedSleep {
  resumeAt: Date;
  remainingMs: number;
}

/**
 * Notes that a run sleeps, and until when, by the database's clock. A sleep that was begun before keeps its instant, whichever attempt began it;
 * a step of that name that failed in an earlier one leaves nothing behind.
 * Undefined means that the lease is lost.
 */
export async function startSleep(
  db: Db,
  lease: Lease,
  { seconds, ...place }: StepPlace & { seconds: number },
): Promise<StartedSleep | undefined> {
  const [sleep] = await db.query<StartedSleep>(sql`
    with held as (${heldLease(lease)}), sleep as (
      insert into waybill.execution_step (execution_id, run_id, name, kind, sequence, state, started_at, output)
      select ${place.executionId}::bigint, ${place.runId}::bigint, ${place.path}, 'sleep', ${place.sequence}::integer, 'running', waybill.now(),
             to_jsonb(waybill.now() + make_interval(secs => ${seconds}))
        from held
          on conflict (run_id, name) do update
         set execution_id = excluded.execution_id, kind = excluded.kind, state = 'running', finished_at = null,
             started_at = case execution_step.kind when 'sleep' then execution_step.started_at else excluded.started_at end,
             output = case execution_step.kind when 'sleep' then execution_step.output else excluded.output end,
             failure_code = null, failure_name = null, failure_message = null, failure_stack = null
       where execution_step.state <> 'completed'
      returning (output #>> '{}')::timestamptz as resume_at
    )
    select resume_at as "resumeAt", (extract(epoch from resume_at - waybill.now()) * 1000)::float8 as "remainingMs" from sleep`);
  return sleep;
}
