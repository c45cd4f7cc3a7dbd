import { sql } from '../../shared/db/sql.ts';
import type { ExecutionId, ManifestId, WorkQueueId } from '../../shared/model/ids.ts';
import type { PoolSettings } from '../../shared/settings.ts';
import type { Engine } from '../support/engine.ts';

/** A pool that may have this many executions live. */
export function poolOf(liveLimit: number): PoolSettings {
  return { queueUrl: 'http://queue/any', concurrency: liveLimit / 2, batchSize: 1 };
}

export async function createGroup(
  { database }: Engine,
  name: string,
  { maxActiveJobs = null, priority = 0, isEnabled = true }: { maxActiveJobs?: number | null; priority?: number; isEnabled?: boolean } = {},
): Promise<number> {
  const [group] = await database.query<{ id: number }>(sql`
    insert into waybill.manifest_group (name, max_active_jobs, priority, is_enabled) values (${name}, ${maxActiveJobs}, ${priority}, ${isEnabled})
    returning id`);
  return group!.id;
}

export async function createManifests({ database }: Engine, groupId: number, names: string[]): Promise<ManifestId[]> {
  const rows = await database.query<{ id: ManifestId }>(sql`
    insert into waybill.manifest (external_id, workflow_name, group_id, schedule_type, owner)
    select name, 'work', ${groupId}, 'none', 'test' from unnest(${names}::text[]) with ordinality n (name, place) order by place
    returning id`);
  return rows.map(({ id }) => id);
}

export interface EntryToQueue {
  groupId: number;
  priority?: number;
  pool?: string;
  manifestId?: ManifestId;
  executionId?: ExecutionId;
  lane?: 'fresh' | 'retry' | 'series';
  occurrenceAt?: Date;
  /** How long before the engine's clock it became available; negative for the future. */
  ageMicroseconds?: number;
}

export async function queueEntries({ database }: Engine, entries: EntryToQueue[]): Promise<WorkQueueId[]> {
  const rows = await database.query<{ id: WorkQueueId }>(sql`
    insert into waybill.work_queue (workflow_name, group_id, priority, pool, manifest_id, execution_id, lane, occurrence_at, origin, available_at, initiator_type)
    select 'work', group_id, priority, pool, manifest_id, execution_id, lane, occurrence_at, 'manual',
           waybill.now() - age * interval '1 microsecond', 'user'
      from unnest(${entries.map(({ groupId }) => groupId)}::bigint[], ${entries.map(({ priority = 0 }) => priority)}::int[],
                  ${entries.map(({ pool }) => pool)}::text[], ${entries.map(({ manifestId }) => manifestId)}::bigint[],
                  ${entries.map(({ executionId }) => executionId)}::bigint[], ${entries.map(({ lane = 'fresh' }) => lane)}::waybill.work_queue_lane[],
                  ${entries.map(({ occurrenceAt }) => occurrenceAt)}::timestamptz[],
                  ${entries.map(({ ageMicroseconds = 0 }) => ageMicroseconds)}::bigint[]) with ordinality
           e (group_id, priority, pool, manifest_id, execution_id, lane, occurrence_at, age, place)
     order by place
    returning id`);
  return rows.map(({ id }) => id);
}

export interface LiveExecution {
  id: ExecutionId;
  groupId: number;
  pool: string;
}

export function liveExecutions({ database }: Engine): Promise<LiveExecution[]> {
  return database.query<LiveExecution>(sql`
    select id, group_id as "groupId", pool from waybill.execution
     where state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null order by id`);
}

/** Ends executions as an executor would, as far as a dispatcher can tell. */
export async function completeExecutions({ database }: Engine, ids: ExecutionId[]): Promise<void> {
  await database.query(sql`
    update waybill.execution set state = 'completed', finished_at = waybill.now() where id = any(${ids}::bigint[]) and finished_at is null`);
}

/** The entries of executions, in the same order. */
export async function entriesOf({ database }: Engine, executions: { id: ExecutionId }[]): Promise<WorkQueueId[]> {
  const rows = await database.query<{ id: WorkQueueId }>(sql`
    select e.work_queue_id as id from unnest(${executions.map(({ id }) => id)}::bigint[]) with ordinality x (id, place)
      join waybill.execution e on e.id = x.id order by x.place`);
  return rows.map(({ id }) => id);
}
