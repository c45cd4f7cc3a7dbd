import { sql } from '../sql.ts';
import { resolvedPool } from './resolved-pool.ts';

/** An entry that has not been admitted, with what decides about it. Instants inside JSON come as text. */
export interface WaitingEntry {
  id: string;
  lane: 'fresh' | 'retry' | 'series';
  attempt: number;
  availableAt: string;
  createdAt: string;
  /** Where it would run now: its own pool, else its workflow's, else the default one. Null for a plan, which needs none. */
  pool: string | null;
  poolLiveCount: number;
  group: string;
  isGroupEnabled: boolean;
  groupLiveCount: number;
  groupMaxActiveJobs: number | null;
}

/** What the dispatcher counts as a slot in use, of the execution `x`. */
export const isLive = sql`x.state in ('pending', 'in_progress') and x.work_queue_id is not null and x.group_count is null`;

/** The pool of the entry `q`. A plan has neither a workflow nor an execution that it continues. */
const pool = sql`case when q.workflow_name is not null or q.execution_id is not null then ${resolvedPool(sql`q`)} end`;

/** The queued entry `q` of the group `eg` as JSON. */
export const waitingEntry = sql`json_build_object('id', q.id::text, 'lane', q.lane, 'attempt', q.attempt, 'availableAt', q.available_at, 'createdAt', q.created_at,
  'pool', ${pool}, 'poolLiveCount', (select count(*) from waybill.execution x where x.pool = ${pool} and ${isLive}),
  'group', eg.name, 'isGroupEnabled', eg.is_enabled, 'groupMaxActiveJobs', eg.max_active_jobs,
  'groupLiveCount', (select count(*) from waybill.execution x where x.group_id = eg.id and ${isLive}))`;
