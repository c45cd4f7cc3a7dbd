import { type Db, readNow } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import { ConflictError, InvalidInputError, messageOf, NotFoundError } from '../errors.ts';
import type { ManifestId } from '../model/ids.ts';
import { type ExpectedVersion, refuseStale } from '../model/refuse-stale.ts';
import { lockWithChildren } from '../transitions/lock-with-children.ts';
import { markDue } from '../transitions/mark-due.ts';
import { recordAudits } from '../transitions/record-audits.ts';
import { findManifestMistakes, isName } from './find-manifest-mistakes.ts';
import { findReleased } from './find-released.ts';
import { concernsEntries, moveEntries } from './move-entries.ts';
import type { WriteContext } from './put-manifests.ts';
import { type Kind, readOptions } from './read-options.ts';
import { type ReadPatch, readPatch } from './read-patch.ts';
import { every } from './schedules.ts';
import { changeManifests } from './sync-manifests.ts';
import { firstOccurrence, type ManifestRow, toStatedColumns } from './sync-rows.ts';

export interface PatchOptions {
  /** Refuses the patch if the manifest has another version by now. */
  version?: ExpectedVersion;
}

/**
 * Changes settings that whoever declares a manifest may leave out, of any owner's. A deployment keeps them as long as its code does not state the same setting. Null is the
 * default. What is not mentioned stays; repeated, nothing is left to change.
 */
export async function patchManifest(
  { database, doorbell, initiator }: WriteContext,
  externalId: string,
  given: unknown,
  { version }: PatchOptions = {},
): Promise<void> {
  const patch = readPatch(given);
  const mayEnable = patch.settings.isEnabled === true || patch.resets.includes('is_enabled');
  const isChanged = await database.transaction(async (db) => {
    await lock(db, externalId, mayEnable);
    const present = await readPresent(db, externalId);
    refuseStale(externalId, present.version, version);
    refuseMistakes(present, patch);
    const row: ManifestRow = {
      ...present.row,
      ...toStatedColumns(patch.settings),
      next_occurrence_at: mayEnable ? await resume(db, present) : undefined,
      stated: {},
      resets: patch.resets,
    };
    const [changed] = await changeManifests(db, { owner: present.owner, rows: [row], isPartial: true, isSwitch: isSwitch(patch) }, null);
    if (!changed) return false;
    if (concernsEntries(changed)) await moveEntries(db, [changed.id]);
    await markDue(db, [changed.id, ...(changed.isSwitchedOn ? await findChildren(db, changed.id) : [])]);
    const { before, after } = changed;
    await recordAudits(db, initiator, [{ action: 'manifest.change', targetType: 'manifest', target: externalId, before, after }]);
    return true;
  });
  if (isChanged) await doorbell.pokeManager();
}

/** Whether nothing but its switch is touched. */
function isSwitch({ settings, resets }: ReadPatch): boolean {
  return Object.keys(settings).every((name) => name === 'isEnabled') && resets.every((column) => column === 'is_enabled');
}

interface Present {
  id: ManifestId;
  kind: 'job' | 'plan';
  owner: string;
  version: number;
  isRetiring: boolean;
  /** What a patch does not touch, as the statements take it. */
  row: Omit<ManifestRow, 'stated'>;
  schedule: Parameters<typeof firstOccurrence>[0];
}

/** A plan's options by its schedule, in the words of the builder. */
const planKinds: Record<Present['schedule']['type'], Kind> = {
  cron: 'timedPlan',
  interval: 'timedPlan',
  none: 'timedPlan',
  once: 'oncePlan',
  dependent: 'dependentPlan',
  dormant_dependent: 'dependentPlan',
};

/** Children are released by their parent's being switched on, and only then. */
async function lock(db: Db, externalId: string, mayEnable: boolean): Promise<void> {
  if (!isName(externalId)) return;
  if (mayEnable) await lockWithChildren(db, externalId);
  else await db.query(sql`select id from waybill.manifest where external_id = ${externalId} and deleted_at is null for no key update`);
}

/** Read after the lock. Instants come as text, which keeps what a date of JavaScript would round away. */
async function readPresent(db: Db, externalId: string): Promise<Present> {
  const [present] = isName(externalId)
    ? await db.query<Present>(sql`
        select m.id, m.kind, m.owner, m.version, m.retiring_at is not null as "isRetiring",
               jsonb_build_object('external_id', m.external_id, 'workflow_name', m.workflow_name, 'input_text', m.input::text, 'group_name', g.name,
                 'schedule_type', m.schedule_type, 'cron_expression', m.cron_expression, 'time_zone', m.time_zone, 'interval_seconds', m.interval_seconds,
                 'anchor', m.anchor, 'run_at', m.run_at, 'dependency_mode', m.dependency_mode) as row,
               jsonb_build_object('type', m.schedule_type, 'expression', m.cron_expression, 'timeZone', m.time_zone,
                 'intervalSeconds', m.interval_seconds, 'anchor', m.anchor,
                 'runAt', to_char(m.run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as schedule
          from waybill.manifest m join waybill.manifest_group g on g.id = m.group_id
         where m.external_id = ${externalId} and m.deleted_at is null`)
    : [];
  if (!present)
    throw new NotFoundError('manifest_not_found', `manifest '${externalId}' does not exist: GET /v1/manifests lists those that do`);
  if (!present.isRetiring) return present;
  throw new ConflictError(
    'manifest_retiring',
    `manifest '${externalId}' is no longer declared and goes with its last run: declare it again first`,
  );
}

/** The settings are judged by the kind of manifest and of schedule that they are for. The schedule itself is not the patch's. */
function refuseMistakes({ kind, row, schedule }: Present, { settings, resets, problems: own }: ReadPatch): void {
  const hasPool = settings.pool !== undefined || resets.includes('pool');
  const problems = kind === 'plan' && hasPool ? [...own, ...readOptions(planKinds[schedule.type], { pool: '' }, '').problems] : own;
  const standIn = schedule.type === 'cron' ? every.days(1) : schedule;
  const { external_id: externalId, group_name: group } = row;
  const all = [...problems, ...findManifestMistakes({ externalId, workflow: '', input: null, group, schedule: standIn, ...settings })];
  if (all.length) throw new InvalidInputError('invalid_manifest', all.map((problem) => `manifest '${externalId}': ${problem}`).join('; '));
}

/** From where the schedule goes on once it is switched on. A zone or an expression that this version does not know any more keeps it off. */
async function resume(db: Db, { row, schedule }: Present): Promise<Date | string | undefined> {
  const now = await readNow(db);
  try {
    return firstOccurrence(schedule, now);
  } catch (error) {
    throw new ConflictError('invalid_schedule', `manifest '${row.external_id}' cannot be switched on: ${messageOf(error)}`);
  }
}

/** Locked at the beginning, but for those whose edge was written while this one waited. */
async function findChildren(db: Db, parentId: ManifestId): Promise<ManifestId[]> {
  const children = await findReleased(db, { groupIds: [], parentIds: [parentId] });
  if (children.length)
    await db.query(sql`select id from waybill.manifest where id = any(${children}::bigint[]) order by id for no key update`);
  return children;
}
