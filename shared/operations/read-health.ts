import type { Db } from '../db/database.ts';
import { selectHealth } from '../db/queries/select-health.ts';
import { toInstant } from './instant.ts';

export interface Health {
  status: 'ok';
  now: string;
  /** The version of Waybill that answers. */
  version: string;
  /** The last migration applied. */
  schema: string | null;
  /** When the manager last completed a cycle; null before the first. */
  lastCycleAt: string | null;
  /** What that cycle did: how many manifests were due, queued, skipped and quarantined, and how many runs it recovered. */
  lastCycle: Record<string, number> | null;
}

/** Says that the database answers and how far the scheduler is; when the database does not, this throws. */
export async function readHealth(db: Db, version: string): Promise<Health> {
  const { now, schema, last_cycle_at, last_cycle } = await selectHealth(db);
  return { status: 'ok', now: toInstant(now), version, schema, lastCycleAt: toInstant(last_cycle_at), lastCycle: last_cycle };
}
