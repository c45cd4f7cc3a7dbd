import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ActivationResult } from '../model/dormant.ts';
import type { ExecutionId } from '../model/ids.ts';
import type { ParentExecution } from './hold-lease.ts';

/** What the step of an activation keeps: its result, and for which input. */
export interface ActivationStep {
  result: ActivationResult;
  inputHash: string | null;
}

/** The results that earlier calls of this run have reached, by the name of the step. One that is missing was not asked for yet. */
export async function findRecordedActivations(
  db: Db,
  runId: ExecutionId,
  stepNames: readonly string[],
): Promise<Map<string, ActivationStep>> {
  const steps = await db.query<{ name: string; output: ActivationResult & { inputHash: string | null } }>(sql`
    select name, output from waybill.execution_step
     where run_id = ${runId} and name = any(${stepNames}::text[]) and state = 'completed'`);
  return new Map(steps.map(({ name, output: { inputHash, ...result } }) => [name, { result, inputHash }]));
}

/** Writes the steps, completed at once, in the transaction that queues what they tell of. They come after whatever the run has recorded so far. */
export async function recordActivations(
  db: Db,
  parent: ParentExecution,
  steps: readonly (ActivationStep & { stepName: string })[],
): Promise<void> {
  if (!steps.length) return;
  const outputs = steps.map(({ result, inputHash }) => JSON.stringify({ ...result, inputHash }));
  await db.query(sql`
    insert into waybill.execution_step (execution_id, run_id, name, sequence, state, output, started_at, finished_at)
    select ${parent.id}, ${parent.runId}, s.name, last.sequence + s.place, 'completed', s.output::jsonb, waybill.now(), waybill.now()
      from unnest(${steps.map(({ stepName }) => stepName)}::text[], ${outputs}::text[]) with ordinality s (name, output, place),
           (select coalesce(max(sequence), 0) as sequence from waybill.execution_step where run_id = ${parent.runId}) last`);
}
