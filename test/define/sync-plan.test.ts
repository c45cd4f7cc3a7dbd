import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { describeSync } from '../../shared/define/describe-sync.ts';
import { planSync } from '../../shared/define/sync.ts';
import type { SyncReport } from '../../shared/define/sync-report.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { beforeStatement, settlesOrWaits } from '../engine/interleave.ts';
import { clear, useEngine } from '../support/engine.ts';
import { type Declared, type Deployment, define, deploy } from './use-sync.ts';

const engine = useEngine();

beforeEach(() => clear(engine));

const following = (dependsOn: string) => ({ type: 'dependent' as const, dependsOn: [dependsOn], mode: 'all' as const });

/** Everything that a deployment can write, and the trace that a lock would leave. */
async function everything(): Promise<unknown> {
  const tables = ['manifest', 'manifest_group', 'manifest_dependency', 'workflow', 'deployment', 'work_queue', 'audit_event'];
  return Promise.all(
    tables.map((table) => engine.rows({ text: `select *, xmin::text, xmax::text from waybill.${table} order by 1, 2`, values: [] })),
  );
}

const before: Declared[] = [
  { externalId: 'parent', group: 'etl' },
  { externalId: 'child', group: 'etl', schedule: following('parent') },
  { externalId: 'same', group: 'etl' },
  { externalId: 'moving', group: 'etl' },
  { externalId: 'gone', group: 'etl' },
];
const next: [Declared[], Deployment] = [
  [
    { externalId: 'parent', group: 'etl', priority: 3 },
    { externalId: 'child', group: 'etl', schedule: following('new') },
    { externalId: 'same', group: 'etl' },
    { externalId: 'moving', group: 'elsewhere' },
    { externalId: 'new', group: 'etl' },
  ],
  { workflows: ['work', 'more'], groups: [{ name: 'etl', maxActiveJobs: 4 }] },
];

describe('a plan', () => {
  it('says what the deployment then does', async () => {
    await deploy(engine, before);
    const plan = await planSync(engine.database, define(...next));
    expect(plan).toEqual({
      outcome: 'planned',
      deploymentVersion: null,
      created: ['new'],
      changed: ['child', 'moving', 'parent'],
      changedFields: { child: ['dependsOn'], moving: ['group'], parent: ['priority'] },
      unchangedCount: 1,
      pruned: ['gone'],
      groups: { created: ['elsewhere'], changed: ['etl'] },
      workflows: { created: ['more'], changed: [], removed: [] },
    });
    const done = await deploy(engine, ...next);
    expect({ ...done, outcome: 'planned', deploymentVersion: null }).toEqual(plan);
  });

  it('writes nothing and locks nothing', async () => {
    await deploy(engine, before);
    const untouched = await everything();
    await planSync(engine.database, define(...next));
    expect(await everything()).toEqual(untouched);
  });

  it('waits for nobody, not even for a deployment under way', async () => {
    await deploy(engine, before);
    await engine.database.transaction(async (db) => {
      await db.query(sql`select pg_advisory_xact_lock(hashtextextended('waybill:graph', 0))`);
      await db.query(sql`select from waybill.manifest for update`);
      await db.query(sql`select from waybill.manifest_group for update`);
      expect(await settlesOrWaits(engine.database, planSync(engine.database, define(...next)))).toBe('settled');
    });
  });

  it.each<[string, Declared[], Deployment, string]>([
    ['manifests of another owner', [{ externalId: 'theirs' }], {}, 'foreign_manifest'],
    ['workflows of another owner', [{ externalId: 'job' }], { workflows: ['their-work'] }, 'foreign_workflow'],
    ['unknown parents', [{ externalId: 'job', schedule: following('nobody') }], {}, 'unknown_parent'],
    [
      'a circle of manifests that are there and new ones',
      [
        { externalId: 'parent', group: 'etl', schedule: following('new') },
        { externalId: 'child', group: 'etl', schedule: following('parent') },
        { externalId: 'new', group: 'etl', schedule: following('child') },
      ],
      {},
      'circular_dependency',
    ],
    [
      'a circle into which something leads that comes first by name',
      [
        { externalId: 'parent', group: 'etl', schedule: following('y') },
        { externalId: 'a', group: 'etl' },
        { externalId: 'y', group: 'etl', schedule: { type: 'dependent', dependsOn: ['a', 'x'], mode: 'all' } },
        { externalId: 'x', group: 'etl', schedule: following('parent') },
      ],
      {},
      'circular_dependency',
    ],
    [
      'a circle of groups through another owner’s manifest',
      [
        { externalId: 'parent', group: 'etl' },
        { externalId: 'child', group: 'theirs', schedule: following('parent') },
        { externalId: 'new', group: 'etl', schedule: following('theirs') },
      ],
      {},
      'circular_dependency',
    ],
  ])('refuses %s, as the deployment does', async (_, manifests, deployment, code) => {
    await deploy(engine, before);
    await deploy(engine, [{ externalId: 'theirs' }], { owner: 'other', workflows: ['their-work'] });
    const untouched = await engine.rows(sql`select *, xmin::text from waybill.manifest order by id`);
    const planning = planSync(engine.database, define(manifests, deployment)).catch((error: unknown) => error);
    const deploying = deploy(engine, manifests, deployment).catch((error: unknown) => error);
    expect(await planning).toMatchObject({ code });
    expect(await deploying).toMatchObject({ code, message: ((await planning) as Error).message });
    expect(await engine.rows(sql`select *, xmin::text from waybill.manifest order by id`)).toEqual(untouched);
  });

  it('does not see a circle where an edge or a manifest of it goes', async () => {
    await deploy(engine, [{ externalId: 'a' }, { externalId: 'b', group: 'a', schedule: following('a') }]);
    const turned = [
      { externalId: 'b', group: 'a' },
      { externalId: 'a', schedule: following('b') },
    ];
    expect(await planSync(engine.database, define(turned))).toMatchObject({ changed: ['a', 'b'] });
    expect(await deploy(engine, turned)).toMatchObject({ changed: ['a', 'b'] });
    expect(
      await planSync(engine.database, define([{ externalId: 'a' }, { externalId: 'c', group: 'a', schedule: following('a') }])),
    ).toMatchObject({
      created: ['c'],
      pruned: ['b'],
    });
  });

  it('sees the circle through a manifest that is removed and still runs', async () => {
    await deploy(engine, [
      { externalId: 'a', group: 'one' },
      { externalId: 'b', group: 'two', schedule: following('a') },
    ]);
    await trigger({ ...engine, initiator: { type: 'user', id: null, name: null } }, { externalId: 'b' });
    await engine.dispatch();
    // Group one waits for two by the new edge, and two for one by the manifest that goes with its run.
    const circle = [
      { externalId: 'a', group: 'one' },
      { externalId: 'c', group: 'two' },
      { externalId: 'd', group: 'one', schedule: following('c') },
    ];
    await expect(planSync(engine.database, define(circle))).rejects.toMatchObject({ code: 'circular_dependency' });
    await expect(deploy(engine, circle)).rejects.toMatchObject({ code: 'circular_dependency' });
  });
});

describe('for people', () => {
  const nothing: SyncReport = {
    outcome: 'applied',
    deploymentVersion: 7,
    created: [],
    changed: [],
    changedFields: {},
    unchangedCount: 0,
    pruned: [],
    groups: { created: [], changed: [] },
    workflows: { created: [], changed: [], removed: [] },
  };

  it('it names what differs and counts what does not', async () => {
    await deploy(engine, before);
    expect(describeSync(await planSync(engine.database, define(...next)))).toEqual([
      'manifests  5 (1 created, 3 changed, 1 unchanged, 1 pruned)',
      '  + new',
      '  ~ child (dependsOn)',
      '  ~ moving (group)',
      '  ~ parent (priority)',
      '  - gone',
      'groups     1 created, 1 changed',
      '  + elsewhere',
      '  ~ etl',
      'workflows  1 created, 0 changed',
      '  + more',
    ]);
  });

  it('long lists are cut short and say how much they leave out', () => {
    const lines = describeSync({ ...nothing, created: Array.from({ length: 5_000 }, (_, index) => `job-${index}`) });
    expect(lines).toHaveLength(22);
    expect(lines.slice(-2)).toEqual(['  + job-19', '  + … and 4980 more created']);
  });

  it('a deployment that was superseded says so', () => {
    expect(describeSync({ ...nothing, outcome: 'superseded' })).toEqual([
      'deployment 7 was superseded: one that began later has been applied, nothing was changed',
    ]);
  });
});

describe('a deployment that is killed', () => {
  /** The statements of a transaction end with its connection, wherever that is cut. */
  const killedBefore = (number: number): Database & { hasInterrupted(): boolean } =>
    beforeStatement(engine.database, number, () => Promise.reject(new Error('killed')));

  it('before any of its statements leaves nothing of itself, and can be repeated', { timeout: 60_000 }, async () => {
    await deploy(engine, before);
    for (let number = 0; ; number++) {
      const untouched = await engine.rows(sql`
        select m.external_id, m.version, m.group_id, m.xmin::text from waybill.manifest m order by m.id`);
      const database = killedBefore(number);
      const deploying = deploy({ database }, ...next).catch((error: Error) => error.message);
      if ((await deploying) !== 'killed') {
        expect(number).toBeGreaterThan(12);
        break;
      }
      expect(
        await engine.rows(sql`select m.external_id, m.version, m.group_id, m.xmin::text from waybill.manifest m order by m.id`),
      ).toEqual(untouched);
      expect(await engine.rows(sql`select from waybill.manifest_group where name = 'elsewhere'`)).toEqual([]);
    }
    expect(await deploy(engine, ...next)).toMatchObject({ created: [], changed: [], pruned: [], unchangedCount: 5 });
  });
});
