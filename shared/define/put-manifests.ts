import type { Database, Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError } from '../errors.ts';
import type { Initiator } from '../model/initiator.ts';
import { type ExpectedVersion, refuseStale } from '../model/refuse-stale.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import { recordAudits } from '../transitions/record-audits.ts';
import { lockGraph } from '../transitions/refuse-cycles.ts';
import { type AppliedDefinitions, applyDefinitions } from './apply-definitions.ts';
import { checkRuntimeManifests, listShortly, MOST_LISTED } from './check-runtime-manifests.ts';
import type { JobDefinition } from './definition.ts';
import { RUNTIME_OWNER } from './sync.ts';
import { auditDefinitions, changedParents } from './sync-audit.ts';

/** Where to write, whom to poke after the commit, and who asks. */
export interface WriteContext {
  database: Database;
  doorbell: Doorbell;
  initiator: Initiator;
}

export interface PutResult {
  externalId: string;
  outcome: 'created' | 'changed' | 'unchanged';
}

export interface PutOptions {
  /** Refuses all if one of them has another version by now, or does not exist. Without it, any version will do. */
  version?: ExpectedVersion;
}

/**
 * Declares manifests at run time, all of them or none, by the rules and the writers of a deployment. They belong to an owner of their own, so that no deployment prunes
 * them. Repeated, it finds nothing left to change. Killed before the commit, nothing happened; killed between commit and poke, the manager's next cycle finds them.
 */
export async function putManifests(
  { database, doorbell, initiator }: WriteContext,
  given: unknown,
  { version }: PutOptions = {},
): Promise<PutResult[]> {
  const { manifests, groups } = await checkRuntimeManifests(given);
  const applied = await database.transaction(async (db) => {
    await lockGraph(db);
    await refuseUnknownWorkflows(db, manifests);
    await refuseForeignManifests(db, manifests);
    const done = await applyDefinitions(db, { owner: RUNTIME_OWNER, groups, manifests, isComplete: false }, null);
    await refuseTakenInstants(db, done);
    if (version !== undefined) await refuseStaleManifests(db, manifests, done, version);
    await recordAudits(db, initiator, auditDefinitions(done, manifests));
    return done;
  });
  await doorbell.pokeManager();
  return toResults(manifests, applied);
}

async function refuseUnknownWorkflows(db: Db, manifests: JobDefinition[]): Promise<void> {
  const names = [...new Set(manifests.map(({ workflow }) => workflow))];
  const known = await db.query<{ name: string }>(sql`
    select name from waybill.workflow where name = any(${names}::text[]) and removed_at is null`);
  const isKnown = new Set(known.map(({ name }) => name));
  const stray = manifests.filter(({ workflow }) => !isKnown.has(workflow));
  if (!stray.length) return;
  const list = stray.map(({ externalId, workflow }) => `manifest '${externalId}': workflow '${workflow}' is not deployed`);
  throw new InvalidInputError('workflow_not_found', `${listShortly(list)}. GET /v1/workflows lists those that are`);
}

async function refuseForeignManifests(db: Db, manifests: JobDefinition[]): Promise<void> {
  const foreign = await db.query<{ externalId: string; owner: string }>(sql`
    select external_id as "externalId", owner from waybill.manifest
     where external_id = any(${manifests.map(({ externalId }) => externalId)}::text[]) and deleted_at is null and owner <> ${RUNTIME_OWNER}
     order by external_id limit ${MOST_LISTED}`);
  if (!foreign.length) return;
  const list = foreign.map(({ externalId, owner }) => `manifest '${externalId}' belongs to app '${owner}'`).join(', ');
  throw new ConflictError('foreign_manifest', `${list}: change it there, or choose another id`);
}

/** A once that is moved to an instant for which it has been queued before would be over at once. Asked of rows that are locked by now. */
async function refuseTakenInstants(db: Db, { changed }: AppliedDefinitions): Promise<void> {
  const rescheduled = changed.filter(({ fields }) => fields.includes('schedule')).map(({ id }) => id);
  if (!rescheduled.length) return;
  const [taken] = await db.query<{ externalId: string; runAt: Date }>(sql`
    select m.external_id as "externalId", m.run_at as "runAt" from waybill.manifest m
     where m.id = any(${rescheduled}::bigint[]) and m.schedule_type = 'once'
       and exists (select from waybill.work_queue w where w.manifest_id = m.id and w.occurrence_at = m.run_at and w.origin = 'schedule')
     order by m.external_id limit 1`);
  if (!taken) return;
  throw new ConflictError(
    'occurrence_taken',
    `manifest '${taken.externalId}' already has an entry for ${taken.runAt.toISOString()}: choose another instant, or trigger it`,
  );
}

/** Asked when all is written, of rows that are locked by now if they differ: locking them first would be out of the order of groups and manifests. A change adds one to the version. */
async function refuseStaleManifests(
  db: Db,
  manifests: JobDefinition[],
  { created, changed }: AppliedDefinitions,
  expected: ExpectedVersion,
): Promise<void> {
  const present = await db.query<{ id: number; externalId: string; version: number }>(sql`
    select id, external_id as "externalId", version from waybill.manifest
     where external_id = any(${manifests.map(({ externalId }) => externalId)}::text[]) and deleted_at is null`);
  const isNew = new Set<number>(created.map(({ id }) => id));
  const isChanged = new Set<number>(changed.map(({ id }) => id));
  for (const { id, externalId, version } of present)
    refuseStale(externalId, isNew.has(id) ? undefined : version - Number(isChanged.has(id)), expected);
}

function toResults(manifests: JobDefinition[], { created, changed, edges }: AppliedDefinitions): PutResult[] {
  const isCreated = new Set(created.map(({ externalId }) => externalId));
  const isChanged = new Set([...changed.map(({ externalId }) => externalId), ...changedParents(edges, manifests).keys()]);
  return manifests.map(({ externalId }) => ({
    externalId,
    outcome: isCreated.has(externalId) ? 'created' : isChanged.has(externalId) ? 'changed' : 'unchanged',
  }));
}
