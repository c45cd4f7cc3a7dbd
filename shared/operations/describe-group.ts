import type { GroupRow } from '../db/queries/select-groups.ts';

/** A group as people and programs see it. */
export interface GroupDescription {
  name: string;
  priority: number;
  /** Null for no limit. */
  maxActiveJobs: number | null;
  isEnabled: boolean;
  /** How many of its slots are in use. */
  liveCount: number;
  /** Entries that wait, the delayed ones included. */
  queuedCount: number;
  manifestCount: number;
}

export function describeGroup(row: GroupRow): GroupDescription {
  return {
    name: row.name,
    priority: row.priority,
    maxActiveJobs: row.max_active_jobs,
    isEnabled: row.is_enabled,
    liveCount: row.live_count,
    queuedCount: row.queued_count,
    manifestCount: row.manifest_count,
  };
}
