import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ExecutionId, ManifestId } from '../model/ids.ts';
import { dueAt } from './mark-due.ts';

export interface SettledManifest {
  id: ManifestId;
  /** It has failed as often as it may. */
  isExhausted: boolean;
  nextDueAt: Date | null;
  /** It was no longer declared, and this was its last run. */
  isRetired: boolean;
  hasDependents: boolean;
}

/** An interval that is anchored at completion counts from the end of its run, however that went. */
const nextOccurrenceAt = sql`case when m.schedule_type = 'interval' and m.anchor = 'completion'
                                  then waybill.now() + make_interval(secs => m.interval_seconds) else m.next_occurrence_at end`;

/**
 * When the run began, in its first attempt: a later one goes on from the steps that were completed then, so what they read is that old. A delta that began where the last attempt did
 * would miss what changed in between.
 */
const runStartedAt = sql`case when e.run_id = e.id then e.started_at
                              else coalesce((select r.started_at from waybill.execution r where r.id = e.run_id), e.started_at) end`;

/**
 * What the end of a run means for its manifest, in one write of the row: successes and failures are counted, its hold is over, and one that is no longer declared goes
 * with its last run. The rows must be locked by the caller, like those of {@link markDue}. A manifest has one unfinished run at the most, so each is written once.
 *
 * Whether it has dependents is asked here, after the lock: whoever adds an edge holds the parent's row.
 */
export async function settleManifests(db: Db, executionIds: ExecutionId[]): Promise<SettledManifest[]> {
  if (!executionIds.length) return [];
  return db.query<SettledManifest>(sql`
    update waybill.manifest m
       set failed_count = case when e.state = 'failed' then m.failed_count + 1 else 0 end,
           success_count = m.success_count + case when e.state in ('completed', 'completed_with_warnings') then 1 else 0 end,
           last_successful_run = case when e.state in ('completed', 'completed_with_warnings') then e.finished_at else m.last_successful_run end,
           last_success_started_at = case when e.state in ('completed', 'completed_with_warnings') then ${runStartedAt} else m.last_success_started_at end,
           next_occurrence_at = ${nextOccurrenceAt}, next_due_at = ${dueAt(nextOccurrenceAt)},
           deleted_at = case when m.retiring_at is not null then coalesce(m.deleted_at, waybill.now()) else m.deleted_at end
      from waybill.execution e
     where e.id = any(${executionIds}::bigint[]) and m.id = e.manifest_id
    returning m.id, m.failed_count >= m.max_attempts as "isExhausted", m.next_due_at as "nextDueAt", m.retiring_at is not null as "isRetired",
              exists (select from waybill.manifest_dependency d where d.parent_id = m.id) as "hasDependents"`);
}
