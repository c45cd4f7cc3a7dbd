import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { putManifests, type WriteContext } from '../../shared/define/put-manifests.ts';
import type { RuntimeManifest } from '../../shared/define/read-runtime-manifest.ts';
import { removeManifest } from '../../shared/operations/remove-manifest.ts';
import { disableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeCommit, beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { START } from '../support/engine.ts';
import { following, job, useRuntime } from './use-runtime.ts';
import { deploy } from './use-sync.ts';

const { engine, contextOf, put, manifest } = useRuntime();
let context: WriteContext;
beforeEach(() => {
  context = contextOf();
});

type Row = Record<string, unknown>;

describe('a manifest that is declared at run time', () => {
  it.each<[string, RuntimeManifest['schedule'], Row]>([
    ['cron', { type: 'cron', cron: '0 2 * * *' }, { time_zone: 'UTC', next_due_at: new Date('2026-03-02T02:00:00Z') }],
    ['an interval', { type: 'interval', intervalSeconds: 60 }, { anchor: 'occurrence', next_due_at: new Date(START) }],
    ['a one-time run', { type: 'once', runAt: '2026-04-01T12:00:00+02:00' }, { next_due_at: new Date('2026-04-01T10:00:00Z') }],
    ['a dependent', { type: 'dependent', dependsOn: 'of-the-app', mode: 'any' }, { dependency_mode: 'any', next_due_at: new Date(START) }],
    ['a dormant dependent', { type: 'dormant_dependent', dependsOn: ['of-the-app'] }, { next_due_at: null }],
    ['no schedule', { type: 'none' }, { next_due_at: null }],
  ])('may be %s, and is due when that says', async (_, schedule, row) => {
    expect(await put(job('job', { schedule, input: { a: 1 } }))).toEqual([{ externalId: 'job', outcome: 'created' }]);
    expect(await manifest('job')).toMatchObject({
      ...row,
      schedule_type: schedule.type,
      input: { a: 1 },
      owner: 'runtime',
      deployment_version: null,
    });
    expect(engine.doorbell.managerPokes).toEqual([{}]);
  });

  it('runs like any other', async () => {
    await put(job('job', { schedule: { type: 'interval', intervalSeconds: 60 } }), job('next', following('job')));
    for (let look = 0; look < 2; look++) {
      await engine.manage();
      await engine.dispatch();
      await engine.deliver();
    }
    expect(await manifest('next')).toMatchObject({ success_count: 1 });
  });

  it('has every option of an app’s, and takes back what it no longer states', async () => {
    await put(
      job('job', {
        schedule: { type: 'interval', intervalSeconds: 60, anchor: 'completion' },
        group: { name: 'etl', maxActiveJobs: 3 },
        priority: 7,
        misfire: { fireAll: 4 },
        exclude: [{ type: 'weekdays', weekdays: ['sunday'] }],
      }),
    );
    expect(await manifest('job')).toMatchObject({ priority: 7, misfire_policy: 'fire_all', misfire_limit: 4, anchor: 'completion' });
    const schedule = { type: 'interval' as const, intervalSeconds: 60, anchor: 'completion' as const };
    expect(await put(job('job', { schedule, group: 'etl' }))).toEqual([{ externalId: 'job', outcome: 'changed' }]);
    expect(await manifest('job')).toMatchObject({ priority: 0, misfire_policy: 'fire_once', misfire_limit: null, exclusions: [] });
    // What a group is limited to was said of the group, by whoever said it.
    expect(await engine.rows(sql`select max_active_jobs from waybill.manifest_group where name = 'etl'`)).toEqual([{ max_active_jobs: 3 }]);
  });

  it('is not touched by declaring it again as it is', async () => {
    const declared = [job('parent'), job('child', following('parent'))];
    await put(...declared);
    const traces = () => engine.rows(sql`select external_id, version, xmin::text, xmax::text from waybill.manifest order by id`);
    const before = await traces();
    expect(await put(...declared)).toMatchObject([{ outcome: 'unchanged' }, { outcome: 'unchanged' }]);
    expect(await traces()).toEqual(before);
  });

  it('is kept by every deployment, and its id cannot be declared by an app', async () => {
    await put(job('job'));
    await deploy(engine, [{ externalId: 'of-the-app' }, { externalId: 'more' }]);
    expect(await manifest('job')).toBeDefined();
    await expect(deploy(engine, [{ externalId: 'job' }])).rejects.toMatchObject({
      code: 'foreign_manifest',
      message: expect.stringContaining("app 'test' declares manifests of another owner: 'job' belongs to 'runtime'"),
    });
  });

  it('is revived by being declared again while it retires', async () => {
    await put(job('job'));
    await trigger(context, { externalId: 'job' });
    await engine.dispatch();
    await removeManifest(context, 'job');
    expect(await put(job('job'))).toEqual([{ externalId: 'job', outcome: 'changed' }]);
    await engine.deliver();
    expect(await manifest('job')).toMatchObject({ success_count: 1, retiring_at: null });
  });

  it('is written down with who declared it', async () => {
    await put(job('job'));
    await put(job('job', { priority: 3 }));
    expect(
      await engine.rows(sql`
        select initiator_name as name, action, before, after from waybill.audit_event where target = 'job' and target_type = 'manifest' order by id`),
    ).toEqual([
      { name: 'Ada', action: 'manifest.create', before: null, after: { workflow: 'work', group: 'job', schedule: { type: 'none' } } },
      { name: 'Ada', action: 'manifest.change', before: { priority: 0 }, after: { priority: 3 } },
    ]);
  });
});

describe('a one-time run', () => {
  const at = (runAt: string) => job('job', { schedule: { type: 'once', runAt } });
  beforeEach(async () => {
    await put(at('2026-03-02T00:00:00Z'));
    await engine.manage();
    await engine.dispatch();
    await engine.deliver();
  });

  it('that is over may be declared again as it is: repeating a request is no mistake', async () => {
    expect(await put(at('2026-03-02T00:00:00Z'))).toEqual([{ externalId: 'job', outcome: 'unchanged' }]);
  });

  it('moved to another instant runs again, and moved back to one that it has been queued for is refused', async () => {
    await put(at('2026-03-03T00:00:00Z'));
    expect(await manifest('job')).toMatchObject({ next_due_at: new Date('2026-03-03T00:00:00Z') });
    await expect(put(at('2026-03-02T00:00:00Z'))).rejects.toMatchObject({
      code: 'occurrence_taken',
      message: "manifest 'job' already has an entry for 2026-03-02T00:00:00.000Z: choose another instant, or trigger it",
    });
    expect(await manifest('job')).toMatchObject({ run_at: new Date('2026-03-03T00:00:00Z') });
  });
});

describe('of two writers at once', () => {
  beforeEach(() => put(job('a', { group: 'runtime' }), job('b', { group: 'runtime' })));

  /** Starts the second when the first has written and not yet committed. */
  async function race(first: (database: Database) => Promise<unknown>, second: () => Promise<unknown>): Promise<unknown> {
    let waiting: Promise<unknown> | undefined;
    await first(
      beforeCommit(engine.database, async () => {
        waiting = second().catch((error: unknown) => error);
        expect(await settlesOrWaits(engine.database, waiting)).toBe('waits');
      }),
    );
    return waiting;
  }
  const putOver = (database: Database, given: RuntimeManifest) => putManifests({ ...context, database }, [given]);

  it('who together would close a circle, the second is refused, although they have no row in common', async () => {
    await put(job('c', following('b')), job('d', { group: 'runtime' }), job('a', following('d')));
    const refused = await race(
      (database) => putOver(database, job('b', following('a'))),
      () => put(job('d', following('c'))),
    );
    expect(refused).toMatchObject({
      code: 'circular_dependency',
      message: 'circular dependency detected among manifests: a → b → c → d → a',
    });
    expect(await engine.rows(sql`select from waybill.manifest_dependency`)).toHaveLength(3);
  });

  it('one of whom deploys, the second is refused just the same', async () => {
    const refused = await race(
      (database) => deploy({ database }, [{ externalId: 'of-the-app', schedule: { type: 'dependent', dependsOn: ['a'], mode: 'all' } }]),
      () => put(job('a', { ...following('of-the-app') })),
    );
    expect(refused).toMatchObject({ code: 'circular_dependency' });
  });

  it('one of whom removes the parent, the child is refused', async () => {
    const refused = await race(
      (database) => removeManifest({ ...context, database }, 'a'),
      () => put(job('b', following('a'))),
    );
    expect(refused).toMatchObject({ code: 'unknown_parent' });
  });

  it('who both give the version that they have read, the second is refused, whoever it is', async () => {
    const refused = await race(
      (database) => disableManifest({ ...context, database }, 'a'),
      () => putManifests(context, [job('a', { group: 'runtime', priority: 7 })], { version: 1 }),
    );
    expect(refused).toMatchObject({ code: 'version_mismatch' });
    expect((await engine.rows(sql`select priority, version from waybill.manifest where external_id = 'a'`))[0]).toEqual({
      priority: 0,
      version: 2,
    });
  });

  it('who declare the same, one creates it', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => put(job('same'))));
    expect(results.flat().filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
  });
});

it('5,000 take as many statements as two', { timeout: 60_000 }, async () => {
  const counted = async (count: number, prefix: string) => {
    let statementCount = 0;
    const database: Database = {
      ...engine.database,
      transaction: (work) =>
        engine.database.transaction((db) =>
          work({
            query: (statement) => {
              statementCount++;
              return db.query(statement);
            },
          }),
        ),
    };
    const some = Array.from({ length: count }, (_, index) =>
      job(`${prefix}-${index}`, index ? { ...following(`${prefix}-0`) } : { group: 'runtime' }),
    );
    await putManifests({ ...context, database }, some);
    return statementCount;
  };
  await put(job('first', { group: 'runtime' }));
  const few = await counted(2, 'few');
  expect(await counted(5_000, 'many')).toBe(few);
  expect(few).toBeLessThan(25);
});

it('killed before any of its statements, it leaves nothing of itself', async () => {
  await put(job('kept', { group: 'runtime' }));
  const many = [job('new', following('kept')), job('kept', { group: { name: 'other', maxActiveJobs: 2 } })];
  for (let number = 0; ; number++) {
    const before = await engine.rows(sql`select *, xmin::text from waybill.manifest order by id`);
    const database = beforeStatement(engine.database, number, () => Promise.reject(new Error('killed')));
    const outcome = await putManifests({ ...context, database }, many).catch((error: Error) => error.message);
    if (outcome !== 'killed') return expect(number).toBeGreaterThan(10);
    expect(await engine.rows(sql`select *, xmin::text from waybill.manifest order by id`)).toEqual(before);
    expect(await engine.rows(sql`select from waybill.manifest_group where name = 'other'`)).toEqual([]);
  }
});
