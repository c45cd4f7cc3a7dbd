import type { Db } from '../db/database.ts';
import { type QueuePlace, type QueueRow, selectQueue } from '../db/queries/select-queue.ts';
import { toInstant } from './instant.ts';
import { isId, type Page, readCursor, writeCursor } from './paging.ts';

/** An entry of the work queue: the intent to run, and since when it waits. */
export interface QueueEntryDescription {
  id: string;
  /** An external id; null for an ad-hoc run. */
  manifest: string | null;
  workflow: string | null;
  group: string;
  /** The waiting execution that this entry continues: it is cancelled instead of the entry. */
  executionId: string | null;
  lane: QueueRow['lane'];
  origin: string;
  attempt: number;
  /** The manifest's, and for dependents the boost. */
  priority: number;
  occurrenceAt: string | null;
  availableAt: string;
  createdAt: string;
  initiator: { type: string; id: string | null; name: string | null };
}

export interface ListQueue {
  group?: string;
  /** An external id. */
  manifest?: string;
  workflow?: string;
  limit: number;
  cursor?: string;
}

/** What waits, group by group, in each in the order in which it will be claimed. */
export async function listQueue(db: Db, { cursor, limit, ...filter }: ListQueue): Promise<Page<QueueEntryDescription>> {
  const after = cursor === undefined ? undefined : readPlace(readCursor('queue', cursor, isPlace));
  const { rows, hasMore } = await selectQueue(db, { ...filter, after, limit });
  const last = rows.at(-1);
  return { items: rows.map(describeEntry), nextCursor: hasMore && last ? writeCursor('queue', writePlace(last)) : null };
}

function writePlace({ group_id, rank_microseconds, id }: QueueRow): string {
  return [group_id, rank_microseconds, id].join(':');
}

/** An instant in microseconds up to the year 9999 has at most 18 digits. */
function isPlace(key: string): boolean {
  const [groupId = '', rank = '', id = '', ...rest] = key.split(':');
  return rest.length === 0 && isId(groupId) && /^(0|-?[1-9][0-9]{0,17})$/.test(rank) && isId(id);
}

function readPlace(key: string): QueuePlace {
  const [groupId = '', rankMicroseconds = '', id = ''] = key.split(':');
  return { groupId, rankMicroseconds, id };
}

function describeEntry(row: QueueRow): QueueEntryDescription {
  return {
    id: row.id,
    manifest: row.manifest,
    workflow: row.workflow_name,
    group: row.group_name,
    executionId: row.execution_id,
    lane: row.lane,
    origin: row.origin,
    attempt: row.attempt,
    priority: row.priority,
    occurrenceAt: toInstant(row.occurrence_at),
    availableAt: toInstant(row.available_at),
    createdAt: toInstant(row.created_at),
    initiator: { type: row.initiator_type, id: row.initiator_id, name: row.initiator_name },
  };
}
