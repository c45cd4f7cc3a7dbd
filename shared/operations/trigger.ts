import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError } from '../errors.ts';
import type { ManifestId, WorkQueueId } from '../model/ids.ts';
import { checkDelaySeconds, checkInput } from './check-input.ts';
import type { OperationContext } from './context.ts';
import { type LockedManifest, lockRunnableManifest } from './lock-manifest.ts';
import { queueManualEntry } from './queue-manual-entry.ts';
import { recordAudit } from './record-audit.ts';

export interface Trigger {
  externalId: string;
  input?: unknown;
  delaySeconds?: number;
}

export interface TriggerResult {
  outcome: 'queued' | 'brought_forward' | 'already_queued';
  queueEntryId: string;
  /** The run that has to end first. */
  behindExecutionId: string | null;
}

/**
 * Runs a manifest because somebody asks. Without input it brings forward what waits (the retry, else the fresh entry; never a series), keeping that one's input,
 * else it queues the manifest's. With input it takes the fresh place, or, when delayed, waits in the series under its own instant. On a live
 * manifest it queues behind it. Repeating it finds what it queued.
 */
export async function trigger(
  { database, doorbell, initiator }: OperationContext,
  { externalId, input, delaySeconds = 0 }: Trigger,
): Promise<TriggerResult> {
  checkInput(input);
  checkDelaySeconds(delaySeconds);
  const result = await database.transaction(async (db) => {
    const manifest = await lockRunnableManifest(db, externalId);
    if (input !== undefined && manifest.kind === 'plan') throw takesNoInput(manifest);
    const waiting = await findWaiting(db, manifest.id);
    const placed =
      input === undefined
        ? ((await bringForward(db, waiting, delaySeconds)) ??
          (await queue(db, manifest, { input, lane: 'fresh', delaySeconds, initiator })))
        : await placeWithInput(db, manifest, waiting, { input, delaySeconds, initiator });
    await recordAudit(db, initiator, {
      action: 'manifest.trigger',
      targetType: 'manifest',
      target: externalId,
      after: { ...placed, delaySeconds },
    });
    return { ...placed, behindExecutionId: await findLive(db, manifest.id) };
  });
  await (delaySeconds > 0 ? doorbell.pokeManager() : doorbell.pokeDispatcher());
  return result;
}

interface Waiting {
  id: WorkQueueId;
  lane: 'fresh' | 'retry';
  input: unknown;
}

/** The retry first: it keeps every other entry back. */
async function findWaiting(db: Db, manifestId: ManifestId): Promise<Waiting[]> {
  const waiting = await db.query<Waiting>(sql`
    select id, lane, input from waybill.work_queue
     where manifest_id = ${manifestId} and manifest_id is not null and status = 'queued' and lane <> 'series' and execution_id is null
     order by id for no key update`);
  return waiting.sort((a, b) => Number(b.lane === 'retry') - Number(a.lane === 'retry'));
}

async function bringForward(
  db: Db,
  [first]: Waiting[],
  delaySeconds: number,
): Promise<Omit<TriggerResult, 'behindExecutionId'> | undefined> {
  if (!first) return undefined;
  const moved = await db.query(sql`
    update waybill.work_queue set available_at = waybill.now() + make_interval(secs => ${delaySeconds})
     where id = ${first.id} and available_at > waybill.now() + make_interval(secs => ${delaySeconds})
    returning id`);
  return { outcome: moved.length ? 'brought_forward' : 'already_queued', queueEntryId: String(first.id) };
}

type Placement = Pick<Parameters<typeof queueManualEntry>[1], 'input' | 'delaySeconds' | 'initiator'>;

async function placeWithInput(db: Db, manifest: LockedManifest, waiting: Waiting[], placement: Placement) {
  if (placement.delaySeconds > 0) return queue(db, manifest, { ...placement, lane: 'series' });
  const fresh = waiting.find(({ lane }) => lane === 'fresh');
  if (!fresh) return queue(db, manifest, { ...placement, lane: 'fresh' });
  const [same] = await db.query<{ isSame: boolean }>(sql`
    select input = ${JSON.stringify(placement.input)}::jsonb as "isSame" from waybill.work_queue where id = ${fresh.id}`);
  if (same?.isSame) {
    // From now on somebody asked for exactly this input: a deployment before admission must not replace it.
    await db.query(sql`update waybill.work_queue set is_input_given = true where id = ${fresh.id}`);
    return (await bringForward(db, [fresh], 0))!;
  }
  throw alreadyQueued(manifest, fresh.id);
}

async function queue(db: Db, manifest: LockedManifest, placement: Placement & { lane: 'fresh' | 'series' }) {
  const id = await queueManualEntry(db, { manifestId: manifest.id, ...placement });
  if (id === undefined) throw alreadyQueued(manifest, undefined);
  return { outcome: 'queued' as const, queueEntryId: String(id) };
}

function takesNoInput({ externalId }: LockedManifest): InvalidInputError {
  return new InvalidInputError(
    'invalid_request',
    `manifest '${externalId}' is a plan, whose steps have their own inputs: trigger it without input`,
  );
}

function alreadyQueued({ externalId }: LockedManifest, entryId: WorkQueueId | undefined): ConflictError {
  const what = entryId === undefined ? 'an entry for this very instant' : `entry ${entryId} with another input`;
  return new ConflictError(
    'already_queued',
    `manifest '${externalId}' already has ${what} in the queue: wait until it has run, or cancel it first`,
  );
}

async function findLive(db: Db, manifestId: ManifestId): Promise<string | null> {
  const [live] = await db.query<{ id: string }>(sql`
    select id::text from waybill.execution where manifest_id = ${manifestId} and manifest_id is not null and parent_id is null and finished_at is null`);
  return live?.id ?? null;
}
