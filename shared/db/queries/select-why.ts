import type { ScheduleType, SkipReason } from '../../model/manifest.ts';
import type { Db } from '../database.ts';
import { sql } from '../sql.ts';
import type { ExecutionState } from './execution-columns.ts';
import { type ManifestState, manifestState } from './manifest-state.ts';
import { type PlanFacts, planFacts } from './plan-facts.ts';
import { isLive, type WaitingEntry, waitingEntry } from './waiting-entry.ts';

/** Instants inside JSON come as text. */
export interface LiveExecution {
  id: string;
  state: ExecutionState;
  attempt: number;
  pool: string | null;
  ringCount: number;
  createdAt: string;
  startedAt: string | null;
  leaseExpiresAt: string | null;
  cancelRequestedAt: string | null;
  /** When a sleeping one is admitted again at the earliest. */
  wakesAt: string | null;
  /** How far it is, if it is a plan. */
  plan: PlanFacts | null;
}

export interface ParentEdge {
  externalId: string;
  successCount: number;
  consumedCount: number;
  isEnabled: boolean;
  isDeleted: boolean;
}

/** Everything that decides whether a manifest runs, as it was at one instant. */
export interface WhyRow {
  now: Date;
  state: ManifestState;
  scheduleType: ScheduleType;
  runAt: Date | null;
  dependencyMode: 'all' | 'any' | null;
  isEnabled: boolean;
  retiringAt: Date | null;
  quarantineError: string | null;
  nextOccurrenceAt: Date | null;
  nextDueAt: Date | null;
  maxAttempts: number;
  lastSkipReason: SkipReason | null;
  lastSkipAt: Date | null;
  skipCount: number;
  group: string;
  isGroupEnabled: boolean;
  isPaused: boolean;
  maxActiveJobs: number | null;
  liveCount: number;
  execution: LiveExecution | null;
  deadLetter: { id: string; reason: string; createdAt: string } | null;
  /** At most three: the retry, the fresh one, and the first of the series. */
  entries: WaitingEntry[];
  entryCount: number;
  parents: ParentEdge[];
}

/** Undefined means that no manifest has this external id. One statement, so that all facts are of one snapshot: of two, the second could contradict the first. */
export async function selectWhy(db: Db, externalId: string): Promise<WhyRow | undefined> {
  const [row] = await db.query<WhyRow>(sql`
    select waybill.now() as now, ${manifestState} as state, m.schedule_type as "scheduleType", m.run_at as "runAt", m.dependency_mode as "dependencyMode",
      m.is_enabled as "isEnabled", m.retiring_at as "retiringAt", m.quarantine_error as "quarantineError", m.next_occurrence_at as "nextOccurrenceAt",
      m.next_due_at as "nextDueAt", m.max_attempts as "maxAttempts", m.last_skip_reason as "lastSkipReason", m.last_skip_at as "lastSkipAt",
      m.skip_count as "skipCount", g.name as "group", g.is_enabled as "isGroupEnabled", c.is_paused as "isPaused", c.max_active_jobs as "maxActiveJobs",
      case when c.max_active_jobs is null then 0 else (select count(*) from waybill.execution x where ${isLive}) end as "liveCount",
      live.execution, letter.dead_letter as "deadLetter", coalesce(queued.entries, '[]') as entries,
      (select count(*) from waybill.work_queue w
        where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.execution_id is null) as "entryCount",
      coalesce(edge.parents, '[]') as parents
    from waybill.manifest m
    join waybill.manifest_group g on g.id = m.group_id
    cross join waybill.capacity c
    left join lateral (
      select json_build_object('id', e.id::text, 'state', e.state, 'attempt', e.attempt, 'pool', e.pool, 'ringCount', e.ring_count,
        'createdAt', e.created_at, 'startedAt', e.started_at, 'leaseExpiresAt', e.lease_expires_at, 'cancelRequestedAt', e.cancel_requested_at,
        'wakesAt', (select w.available_at from waybill.work_queue w where w.execution_id = e.id and w.status = 'queued'),
        'plan', ${planFacts}) as execution
      from waybill.execution e
      where e.manifest_id = m.id and e.manifest_id is not null and e.parent_id is null and e.finished_at is null
    ) live on true
    left join lateral (
      select json_build_object('id', d.id::text, 'reason', d.reason, 'createdAt', d.created_at) as dead_letter
      from waybill.dead_letter d
      where d.manifest_id = m.id and d.manifest_id is not null and d.status = 'awaiting_intervention'
    ) letter on true
    left join lateral (
      select json_agg(${waitingEntry} order by q.lane = 'series', q.occurrence_at, q.id) as entries
      from (
        select w.* from waybill.work_queue w
         where w.manifest_id = m.id and w.manifest_id is not null and w.status = 'queued' and w.execution_id is null
         order by w.lane = 'series', w.occurrence_at, w.id limit 3
      ) q
      join waybill.manifest_group eg on eg.id = q.group_id
    ) queued on true
    left join lateral (
      select json_agg(json_build_object('externalId', p.external_id, 'successCount', p.success_count, 'consumedCount', d.consumed_success_count,
        'isEnabled', p.is_enabled, 'isDeleted', p.deleted_at is not null) order by p.external_id) as parents
      from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
      where d.child_id = m.id
    ) edge on true
    where m.external_id = ${externalId} and m.deleted_at is null
    limit 1`);
  return row;
}
