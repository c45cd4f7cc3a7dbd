import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { patchManifest } from '../../shared/define/patch-manifest.ts';
import { putManifests, type WriteContext } from '../../shared/define/put-manifests.ts';
import { removeManifest } from '../../shared/operations/remove-manifest.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { useFreshEngine } from '../support/engine.ts';
import { columnsOfEverySetting, deploy, everySetting } from './use-sync.ts';

const engine = useFreshEngine();
let context: WriteContext;

beforeEach(() => {
  context = { ...engine, initiator: { type: 'user', id: 'u1', name: 'Ada' } };
});

type Row = Record<string, unknown>;
const manifest = async (externalId: string) =>
  (await engine.rows<Row>(sql`select * from waybill.manifest where external_id = ${externalId} and deleted_at is null`))[0]!;
const patch = (externalId: string, given: unknown, version?: number) => patchManifest(context, externalId, given, { version });
const nightly = { type: 'cron' as const, expression: '0 2 * * *', timeZone: 'Asia/Tokyo' };

const { misfire: _, exclusions, ...others } = everySetting;
/** The same as a request states it. */
const everything = { ...others, misfire: { fireAll: 4 }, exclude: exclusions };

describe('a patch', () => {
  it('changes any setting that may be left out, of an app’s manifest too, and nothing else', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly, input: { a: [1, null] } }]);
    const before = await manifest('job');
    await patch('job', everything);
    expect(await manifest('job')).toEqual({ ...before, ...columnsOfEverySetting, version: 2 });
    expect(engine.doorbell.managerPokes).toEqual([{}]);
  });

  it('with null puts a setting back to its default', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly }]);
    const before = await manifest('job');
    await patch('job', everything);
    await patch('job', Object.fromEntries(Object.keys(everything).map((name) => [name, null])));
    expect(await manifest('job')).toEqual({ ...before, version: 3 });
  });

  it('survives deployments that do not state the same, and gives way to one that does', async () => {
    await deploy(engine, [{ externalId: 'job', maxAttempts: 4 }]);
    await patch('job', { priority: 9, maxAttempts: 8 });
    await deploy(engine, [{ externalId: 'job', maxAttempts: 4, input: { changed: true } }]);
    expect(await manifest('job')).toMatchObject({ priority: 9, max_attempts: 4 });
  });

  it('survives the manifest’s being declared at run time again', async () => {
    await deploy(engine, []);
    await putManifests(context, [{ externalId: 'job', workflow: 'work', schedule: { type: 'none' } }]);
    await patch('job', { priority: 9 });
    expect(await putManifests(context, [{ externalId: 'job', workflow: 'work', schedule: { type: 'none' } }])).toMatchObject([
      { outcome: 'unchanged' },
    ]);
    expect(await manifest('job')).toMatchObject({ priority: 9 });
  });

  it('of the pool takes a tick along that is queued, and leaves a trigger where it is', async () => {
    await deploy(engine, [{ externalId: 'job' }, { externalId: 'asked', schedule: nightly }]);
    await engine.manage();
    await trigger(context, { externalId: 'asked' });
    for (const externalId of ['job', 'asked']) await patch(externalId, { pool: 'heavy' });
    expect(await engine.rows(sql`select origin, pool from waybill.work_queue order by id`)).toEqual([
      { origin: 'schedule', pool: 'heavy' },
      { origin: 'manual', pool: null },
    ]);
  });

  it('that changes nothing writes nothing', async () => {
    await deploy(engine, [{ externalId: 'job', priority: 3 }]);
    await patch('job', { priority: 3, timeoutSeconds: null });
    expect(await manifest('job')).toMatchObject({ version: 1 });
    expect(await engine.rows(sql`select from waybill.audit_event where initiator_type = 'user'`)).toEqual([]);
    expect(engine.doorbell.managerPokes).toEqual([]);
  });

  it('is written down with who made it, and what it changed', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await patch('job', { backoff: { factor: 3 }, priority: 1 });
    const backoff = { initialSeconds: 10, factor: 2, maxSeconds: 3600, jitter: 0.2 };
    expect(
      await engine.rows(
        sql`select initiator_name as name, action, target, before, after from waybill.audit_event where initiator_type = 'user'`,
      ),
    ).toEqual([
      {
        name: 'Ada',
        action: 'manifest.change',
        target: 'job',
        before: { backoff, priority: 0 },
        after: { backoff: { ...backoff, factor: 3 }, priority: 1 },
      },
    ]);
  });

  it('that switches on goes on from now, and looks again at what waited for it', async () => {
    await deploy(engine, [
      { externalId: 'parent', schedule: nightly },
      { externalId: 'child', schedule: { type: 'dependent', dependsOn: ['parent'], mode: 'all' } },
    ]);
    await trigger(context, { externalId: 'parent' });
    await disableManifest(context, 'parent');
    await engine.dispatch();
    await engine.deliver();
    await engine.manage();
    expect(await manifest('child')).toMatchObject({ next_due_at: null, last_skip_reason: 'parent_disabled' });
    engine.clock.set('2026-03-05T12:00:00Z');
    await patch('parent', { isEnabled: true });
    expect(await manifest('parent')).toMatchObject({ is_enabled: true, next_due_at: new Date('2026-03-05T17:00:00Z') });
    await engine.manage();
    await engine.dispatch();
    await engine.deliver();
    expect(await manifest('child')).toMatchObject({ success_count: 1 });
  });

  it('leaves a one-time run its instant, to the microsecond', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: { type: 'once', runAt: '2026-03-03T00:00:00Z' } }]);
    await engine.database.query(sql`
      update waybill.manifest set run_at = '2026-03-03T00:00:00.123456Z', next_occurrence_at = '2026-03-03T00:00:00.123456Z'`);
    await patch('job', { priority: 3 });
    expect(
      await engine.rows(sql`select run_at::text, next_occurrence_at = run_at and next_due_at = run_at as is_same from waybill.manifest`),
    ).toEqual([{ run_at: expect.stringContaining('.123456'), is_same: true }]);
  });

  it('does not need a schedule that can still be computed, except to switch it on', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly }]);
    await engine.database.query(sql`update waybill.manifest set time_zone = 'Mars/Olympus'`);
    await patch('job', { isEnabled: false });
    expect(await manifest('job')).toMatchObject({ is_enabled: false });
    await expect(patch('job', { isEnabled: true })).rejects.toMatchObject({
      code: 'invalid_schedule',
      message: expect.stringMatching(/^manifest 'job' cannot be switched on: .*Mars\/Olympus/),
    });
  });
});

describe('a patch is refused', () => {
  beforeEach(() =>
    deploy(engine, [{ externalId: 'job' }, { externalId: 'once', schedule: { type: 'once', runAt: '2026-03-03T00:00:00Z' } }]),
  );

  it.each<[unknown, string, string]>([
    [undefined, 'invalid_request', 'a patch must be an object, got undefined'],
    [[], 'invalid_request', 'a patch must be an object, got []'],
    [{}, 'invalid_request', 'nothing to change was given: give pool, priority, maxAttempts'],
    [{ input: {} }, 'invalid_request', "a patch cannot change 'input'; allowed are pool, priority"],
    [{ group: 'other' }, 'invalid_request', "a patch cannot change 'group'"],
    [{ priority: 99 }, 'invalid_manifest', "manifest 'job': priority must be a whole number from 0 to 31, got 99"],
    [{ isEnabled: 'yes' }, 'invalid_manifest', "manifest 'job': isEnabled must be true or false, got 'yes'"],
    [{ backoff: { fcator: 2 } }, 'invalid_manifest', "manifest 'job': option 'backoff.fcator' does not exist; did you mean 'factor'?"],
    [
      { misfire: 'sometimes' },
      'invalid_manifest',
      "manifest 'job': misfire must be 'fire_once', 'skip' or { fireAll: n }, got 'sometimes'",
    ],
    [{ exclude: [{ type: 'dates', dates: ['2026-02-30'] }] }, 'invalid_manifest', "manifest 'job': exclusion 1 is invalid"],
  ])('for %j', async (given, code, message) => {
    await expect(patch('job', given)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await manifest('job')).toMatchObject({ version: 1 });
  });

  it('for a setting that its schedule does not have', async () => {
    await expect(patch('once', { misfire: 'skip' })).rejects.toThrow(
      "manifest 'once': misfire is only for manifests that run by cron or interval; this one is of type 'once'",
    );
  });

  it.each(['unknown', 'a\0b', ''])('for a manifest %j, which does not exist', async (externalId) => {
    await expect(patch(externalId, { priority: 1 })).rejects.toMatchObject({ code: 'manifest_not_found' });
  });

  it('for one that is on its way out', async () => {
    await trigger(context, { externalId: 'job' });
    await engine.dispatch();
    await removeManifest(context, 'job');
    await expect(patch('job', { isEnabled: true })).rejects.toMatchObject({ code: 'manifest_retiring' });
  });

  it('for a version that is no longer the present one, and of two with the same version one wins', async () => {
    await expect(patch('job', { priority: 1 }, 2)).rejects.toMatchObject({
      code: 'version_mismatch',
      message: "manifest 'job' has version 1, not 2: somebody has changed it, read it again",
    });
    const results = await Promise.allSettled([1, 2, 3].map((priority) => patch('job', { priority }, 1)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await manifest('job')).toMatchObject({ version: 2 });
  });
});
