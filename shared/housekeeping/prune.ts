import type { Database, Db } from '../db/database.ts';
import type { PastCursor, PruneBatch, Pruned } from './past-retention.ts';
import { markOrphanGroups, pruneGroups } from './prune-groups.ts';
import { pruneManifests } from './prune-manifests.ts';
import { type PastRows, pastAuditEvents, pastEntries, pastIdempotencyKeys, pastNotifications, prunePastRows } from './prune-past-rows.ts';
import { pruneRuns } from './prune-runs.ts';

export interface PruneOptions {
  retentionDays: number;
  /** Rows of one kind per transaction: small enough that nothing hot waits for it. */
  batchSize?: number;
  hasTime?: () => boolean;
}

export interface PruneReport {
  executionCount: number;
  entryCount: number;
  otherCount: number;
  manifestCount: number;
  groupCount: number;
}

/** What {@link pruneGroups} removes per transaction, for which ad-hoc runs and deployments wait, and per pass. */
const GROUPS = { limit: 20, most: 100 };

/**
 * Removes what is older than the retention, in bounded batches that lock only rows nobody else holds. Executions go as whole runs. Manifests and groups come last, and only if all that could name them
 * was looked at before. Killed in between, the next hour goes on.
 */
export async function prune(
  database: Database,
  { retentionDays, batchSize = 1_000, hasTime = () => true }: PruneOptions,
): Promise<PruneReport> {
  /** Both go on until there is no more, or no more time. */
  async function walk(
    step: (db: Db, batch: PruneBatch) => Promise<Pruned>,
    { limit, most }: { limit: number; most: number } = { limit: batchSize, most: Number.POSITIVE_INFINITY },
  ): Promise<{ count: number; isOver: boolean }> {
    for (let total = 0, after: PastCursor | undefined; ; ) {
      const { count, next } = await database.transaction((db) => step(db, { retentionDays, limit, after }));
      total += count;
      if (!next || total >= most || !hasTime()) return { count: total, isOver: !next };
      after = next;
    }
  }
  async function drain(rows: PastRows): Promise<{ count: number; isOver: boolean }> {
    for (let total = 0; ; ) {
      const count = await database.transaction((db) => prunePastRows(db, rows, { retentionDays, limit: batchSize }));
      total += count;
      if (count < batchSize || !hasTime()) return { count: total, isOver: count < batchSize };
    }
  }
  const runs = await walk(pruneRuns);
  const entries = await drain(pastEntries);
  const others = [await drain(pastIdempotencyKeys), await drain(pastNotifications), await drain(pastAuditEvents)];
  const report = {
    executionCount: runs.count,
    entryCount: entries.count,
    otherCount: others.reduce((total, { count }) => total + count, 0),
  };
  if (!runs.isOver || !entries.isOver || !hasTime()) return { ...report, manifestCount: 0, groupCount: 0 };
  const manifests = await walk(pruneManifests);
  await database.transaction((db) => markOrphanGroups(db, batchSize));
  const groups = await walk(pruneGroups, GROUPS);
  return { ...report, manifestCount: manifests.count, groupCount: groups.count };
}
