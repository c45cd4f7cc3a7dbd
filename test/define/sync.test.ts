import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ScheduleDefinition } from '../../shared/define/definition.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { clear, START, useFreshEngine } from '../support/engine.ts';
import { columnsOfEverySetting, type Declared, deploy, everySetting } from './use-sync.ts';

const engine = useFreshEngine();

type Row = Record<string, unknown>;
const manifest = async (externalId: string) =>
  (await engine.rows<Row>(sql`select * from waybill.manifest where external_id = ${externalId}`))[0]!;
const group = async (name: string) => (await engine.rows<Row>(sql`select * from waybill.manifest_group where name = ${name}`))[0]!;
/** Whatever locks or writes a row leaves a trace here. */
const traces = () => engine.rows(sql`select external_id, xmin::text, xmax::text, ctid::text from waybill.manifest order by external_id`);
const otherTraces = () =>
  engine.rows(sql`
    select name, xmin::text, xmax::text, ctid::text from waybill.manifest_group
    union all select name, xmin::text, xmax::text, ctid::text from waybill.workflow
    union all select child_id || ' ' || parent_id, xmin::text, xmax::text, ctid::text from waybill.manifest_dependency
    order by 1, 2`);

const nightly: ScheduleDefinition = { type: 'cron', expression: '0 2 * * *', timeZone: 'UTC' };
const everyMinute: ScheduleDefinition = { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' };

describe('a first deployment', () => {
  it('creates what is declared, due when its schedule says', async () => {
    const report = await deploy(engine, [{ externalId: 'nightly', schedule: nightly }, { externalId: 'often' }]);
    expect(report).toMatchObject({ created: ['nightly', 'often'], changed: [], unchangedCount: 0, pruned: [] });
    expect(await manifest('nightly')).toMatchObject({ next_due_at: new Date('2026-03-02T02:00:00Z'), owner: 'test', max_attempts: 3 });
    expect(await manifest('often')).toMatchObject({ next_due_at: new Date(START), priority: 0, is_enabled: true });
  });

  it('records itself with what it did', async () => {
    const report = await deploy(engine, [{ externalId: 'job' }]);
    const [deployment] = await engine.rows<Row>(sql`select * from waybill.deployment`);
    expect(deployment).toMatchObject({ version: report.deploymentVersion, owner: 'test', applied_at: new Date(START), summary: report });
  });

  it('stores every option that is stated', async () => {
    const input = { deep: [1, { a: null }] };
    await deploy(engine, [{ externalId: 'job', input, ...everySetting }]);
    expect(await manifest('job')).toMatchObject({ input, ...columnsOfEverySetting });
  });

  it.each([[null], [undefined], [false], [0], ['text'], [[]]])('stores the input %j', async (input) => {
    await deploy(engine, [{ externalId: 'job', input }]);
    expect(await manifest('job')).toMatchObject({ input: input ?? null });
    expect(await deploy(engine, [{ externalId: 'job', input }])).toMatchObject({ unchangedCount: 1 });
    expect(await deploy(engine, [{ externalId: 'job', input: { other: true } }])).toMatchObject({ changed: ['job'] });
    expect(await deploy(engine, [{ externalId: 'job', input }])).toMatchObject({ changed: ['job'] });
    expect(await manifest('job')).toMatchObject({ input: input ?? null });
  });
});

describe('deploying the same again', () => {
  const declared: Declared[] = [
    { externalId: 'nightly', schedule: nightly, exclusions: [{ type: 'dates', dates: ['2026-12-25'] }], backoff: { factor: 3 } },
    { externalId: 'often', misfire: { policy: 'fire_all', limit: 3 }, jitterSeconds: 20, timeoutSeconds: 5 },
    { externalId: 'off', isEnabled: false },
  ];

  it('changes nothing, and neither locks nor writes a manifest, a group, a workflow or an edge', async () => {
    const all: Declared[] = [
      ...declared,
      { externalId: 'child', schedule: { type: 'dependent', dependsOn: ['often', 'off'], mode: 'any' } },
    ];
    const groups = [{ name: 'often', maxActiveJobs: 2, priority: 1 }];
    await deploy(engine, all, { groups });
    const before = [await traces(), await otherTraces()];
    engine.clock.advance(3600);
    expect(await deploy(engine, all, { groups })).toMatchObject({
      created: [],
      changed: [],
      unchangedCount: 4,
      pruned: [],
      groups: { created: [], changed: [] },
      workflows: { created: [], changed: [], removed: [] },
    });
    expect([await traces(), await otherTraces()]).toEqual(before);
  });

  it('writes only the one that differs', async () => {
    await deploy(engine, declared);
    const [nightlyBefore, offBefore] = await traces();
    expect(
      await deploy(
        engine,
        declared.map((one) => ({ ...one, ...(one.externalId === 'often' && { priority: 3 }) })),
      ),
    ).toMatchObject({
      changed: ['often'],
      unchangedCount: 2,
    });
    expect(await traces()).toEqual([nightlyBefore, offBefore, expect.anything()]);
  });

  it('is not held up by somebody who decides about an unchanged manifest', async () => {
    await deploy(engine, declared);
    await engine.database.transaction(async (db) => {
      await db.query(sql`update waybill.manifest set success_count = success_count + 1`);
      expect(await settlesOrWaits(engine.database, deploy(engine, declared))).toBe('settled');
    });
  });
});

describe('code wins only for what it states', () => {
  it('an operator’s switch and priority survive a deployment that changes something else', async () => {
    await deploy(engine, [{ externalId: 'job', input: { version: 1 } }]);
    await engine.database.query(sql`update waybill.manifest set is_enabled = false, next_due_at = null, priority = 9, max_attempts = 7`);
    expect(await deploy(engine, [{ externalId: 'job', input: { version: 2 } }])).toMatchObject({ changed: ['job'] });
    expect(await manifest('job')).toMatchObject({
      input: { version: 2 },
      is_enabled: false,
      next_due_at: null,
      priority: 9,
      max_attempts: 7,
    });
  });

  it('what the code states replaces what an operator set', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.manifest set priority = 9, max_attempts = 7`);
    await deploy(engine, [{ externalId: 'job', priority: 1, maxAttempts: 2 }]);
    expect(await manifest('job')).toMatchObject({ priority: 1, max_attempts: 2 });
  });

  it('the same holds for groups', async () => {
    await deploy(engine, [{ externalId: 'job', group: 'etl' }], { groups: [{ name: 'etl', maxActiveJobs: 2 }] });
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false, priority = 5, max_active_jobs = 8`);
    await deploy(engine, [{ externalId: 'job', group: 'etl' }], { groups: [{ name: 'etl', maxActiveJobs: 2 }] });
    expect(await group('etl')).toMatchObject({ is_enabled: false, priority: 5, max_active_jobs: 2 });
    await deploy(engine, [{ externalId: 'job', group: 'etl' }], { groups: [{ name: 'etl', maxActiveJobs: 2, isEnabled: true }] });
    expect(await group('etl')).toMatchObject({ is_enabled: true, priority: 5, max_active_jobs: 2 });
  });

  it('what another transaction writes to the manifest is kept, whichever two statements of the deployment it comes between', {
    timeout: 120_000,
  }, async () => {
    const advanced = new Date('2026-03-03T02:00:00Z');
    for (let index = 0, isOver = false; !isOver; index++) {
      await clear(engine);
      await deploy(engine, [{ externalId: 'job', schedule: nightly, input: { version: 1 } }]);
      const written = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      let writing: Promise<void> | undefined;
      const database = beforeStatement(engine.database, index, async () => {
        writing = engine.database.transaction(async (db) => {
          await db.query(sql`update waybill.manifest set next_occurrence_at = ${advanced}, next_due_at = ${advanced}, priority = 9`);
          written.resolve();
          await released.promise;
        });
        await settlesOrWaits(engine.database, written.promise);
      });
      const deploying = deploy({ database }, [{ externalId: 'job', schedule: nightly, input: { version: 2 } }]);
      await settlesOrWaits(engine.database, deploying);
      released.resolve();
      expect(await deploying).toMatchObject({ changed: ['job'] });
      isOver = writing === undefined;
      await writing;
      if (isOver) expect(index).toBeGreaterThan(8);
      else {
        const kept = { input: { version: 2 }, priority: 9, next_occurrence_at: advanced, next_due_at: advanced };
        expect(await manifest('job'), `written before statement ${index}`).toMatchObject(kept);
      }
    }
  });
});

describe('a schedule', () => {
  it('that is restated, or only surrounded by changes, does not move', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: everyMinute }]);
    await engine.manage();
    const due = new Date('2026-03-02T00:01:00Z');
    engine.clock.advance(45);
    await deploy(engine, [{ externalId: 'job', schedule: everyMinute }]);
    expect(await manifest('job')).toMatchObject({ next_occurrence_at: due, next_due_at: due });
    await deploy(engine, [{ externalId: 'job', schedule: everyMinute, input: { changed: true } }]);
    expect(await manifest('job')).toMatchObject({ next_occurrence_at: due, next_due_at: due });
  });

  it.each<[string, ScheduleDefinition, string]>([
    ['another interval', { type: 'interval', intervalSeconds: 90, anchor: 'occurrence' }, '2026-03-02T00:00:45Z'],
    ['another anchor', { type: 'interval', intervalSeconds: 60, anchor: 'completion' }, '2026-03-02T00:00:45Z'],
    ['cron', nightly, '2026-03-02T02:00:00Z'],
  ])('that changes to %s is computed anew from now', async (_, schedule, due) => {
    await deploy(engine, [{ externalId: 'job', schedule: everyMinute }]);
    await engine.manage();
    engine.clock.advance(45);
    await deploy(engine, [{ externalId: 'job', schedule }]);
    expect(await manifest('job')).toMatchObject({ next_occurrence_at: new Date(due), next_due_at: new Date(due) });
  });

  it('in another zone is another schedule', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly }]);
    await deploy(engine, [{ externalId: 'job', schedule: { ...nightly, timeZone: 'Asia/Tokyo' } }]);
    expect(await manifest('job')).toMatchObject({ time_zone: 'Asia/Tokyo', next_due_at: new Date('2026-03-02T17:00:00Z') });
  });

  it('that is switched on counts from now: the time it was off is no misfire', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly, isEnabled: false }]);
    engine.clock.set('2026-03-05T12:00:00Z');
    await deploy(engine, [{ externalId: 'job', schedule: nightly, isEnabled: true }]);
    expect(await manifest('job')).toMatchObject({ next_occurrence_at: new Date('2026-03-06T02:00:00Z') });
  });

  it('is taken out of quarantine by being defined again', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.manifest set quarantine_error = 'unreadable', next_due_at = null`);
    expect(await deploy(engine, [{ externalId: 'job' }])).toMatchObject({ changed: ['job'] });
    expect(await manifest('job')).toMatchObject({ quarantine_error: null, next_due_at: new Date(START) });
  });
});

describe('in company', () => {
  it('ten deployments of one app at once all succeed, and one of them creates', async () => {
    const reports = await Promise.all(Array.from({ length: 10 }, () => deploy(engine, [{ externalId: 'job' }])));
    expect(reports.flatMap(({ created }) => created)).toEqual(['job']);
    expect(new Set(reports.map(({ deploymentVersion }) => deploymentVersion)).size).toBe(10);
  });

  it('a workflow that is no longer part of the app is marked as removed, and comes back with the next deployment that has it', async () => {
    const workflows = () => engine.rows<Row>(sql`select name, removed_at from waybill.workflow order by name`);
    await deploy(engine, [], { workflows: ['work', 'old'] });
    await deploy(engine, [], { workflows: ['work'] });
    expect(await workflows()).toEqual([
      { name: 'old', removed_at: new Date(START) },
      { name: 'work', removed_at: null },
    ]);
    await deploy(engine, [], { workflows: ['work', 'old'] });
    expect(await workflows()).toEqual([
      { name: 'old', removed_at: null },
      { name: 'work', removed_at: null },
    ]);
  });
});
