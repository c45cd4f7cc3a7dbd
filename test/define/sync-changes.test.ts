import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ScheduleDefinition } from '../../shared/define/definition.ts';
import { retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { clear, useFreshEngine, workflowNamed } from '../support/engine.ts';
import { deploy, everySetting } from './use-sync.ts';

const engine = useFreshEngine();

type Row = Record<string, unknown>;
const manifest = async (externalId: string) =>
  (await engine.rows<Row>(sql`select * from waybill.manifest where external_id = ${externalId} and deleted_at is null`))[0]!;
const group = async (name: string) => (await engine.rows<Row>(sql`select * from waybill.manifest_group where name = ${name}`))[0]!;
const nightly: ScheduleDefinition = { type: 'cron', expression: '0 2 * * *', timeZone: 'UTC' };

describe('a setting that the code no longer states', () => {
  it('goes back to its default', async () => {
    await deploy(engine, [{ externalId: 'job', schedule: nightly, ...everySetting }]);
    const { changedFields } = await deploy(engine, [{ externalId: 'job', schedule: nightly }]);
    expect(changedFields).toEqual({
      job: [
        'backoff',
        'exclude',
        'expectWithinSeconds',
        'isEnabled',
        'jitterSeconds',
        'maxAttempts',
        'misfire',
        'misfireThresholdSeconds',
        'pool',
        'priority',
        'timeoutSeconds',
      ],
    });
    const { id: _, external_id: __, version: ___, ...left } = await manifest('job');
    await deploy(engine, [
      { externalId: 'job', schedule: nightly },
      { externalId: 'fresh', schedule: nightly, group: 'job' },
    ]);
    const { id, external_id, version, ...fresh } = await manifest('fresh');
    expect({ ...left, deployment_version: null }).toEqual({ ...fresh, deployment_version: null });
    expect(
      await deploy(engine, [
        { externalId: 'job', schedule: nightly },
        { externalId: 'fresh', schedule: nightly, group: 'job' },
      ]),
    ).toMatchObject({ unchangedCount: 2 });
  });

  it('stays as an operator has set it since', async () => {
    await deploy(engine, [{ externalId: 'job', ...everySetting }]);
    await engine.database.query(
      sql`update waybill.manifest set priority = 9, is_enabled = true, next_due_at = next_occurrence_at, timeout_seconds = null`,
    );
    await deploy(engine, [{ externalId: 'job' }]);
    expect(await manifest('job')).toMatchObject({ priority: 9, is_enabled: true, timeout_seconds: null, max_attempts: 3 });
  });

  it('is an operator’s again, and survives what comes after', async () => {
    await deploy(engine, [{ externalId: 'job', priority: 7 }]);
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.manifest set priority = 7`);
    expect(await deploy(engine, [{ externalId: 'job' }])).toMatchObject({ unchangedCount: 1 });
    expect(await manifest('job')).toMatchObject({ priority: 7 });
  });

  it('is the code’s from the moment it is stated, also with the value that is there', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.database.query(sql`update waybill.manifest set priority = 9`);
    expect(await deploy(engine, [{ externalId: 'job', priority: 9 }])).toMatchObject({ changedFields: { job: ['stated'] } });
    await deploy(engine, [{ externalId: 'job' }]);
    expect(await manifest('job')).toMatchObject({ priority: 0 });
  });

  it('of a group goes back to its default, unless an operator has set it since', async () => {
    const stating = (settings: object) => deploy(engine, [{ externalId: 'job', group: 'etl' }], { groups: [{ name: 'etl', ...settings }] });
    await stating({ priority: 3, maxActiveJobs: 2, isEnabled: false });
    await engine.database.query(sql`update waybill.manifest_group set priority = 4`);
    expect(await stating({})).toMatchObject({ groups: { created: [], changed: ['etl'] } });
    expect(await group('etl')).toMatchObject({ priority: 4, max_active_jobs: null, is_enabled: true });
    expect(await stating({})).toMatchObject({ groups: { created: [], changed: [] } });
  });

  it('of a group stays while another app states it', async () => {
    const shared = { name: 'shared', maxActiveJobs: 2 };
    await deploy(engine, [{ externalId: 'mine', group: 'shared' }], { groups: [shared] });
    await deploy(engine, [{ externalId: 'theirs', group: 'shared' }], { groups: [shared], owner: 'other', workflows: [] });
    await deploy(engine, [{ externalId: 'mine', group: 'shared' }]);
    expect(await group('shared')).toMatchObject({ max_active_jobs: 2 });
    await deploy(engine, [{ externalId: 'theirs', group: 'shared' }], { owner: 'other', workflows: [] });
    expect(await group('shared')).toMatchObject({ max_active_jobs: null });
  });
});

it('a schedule that becomes a one-time run leaves misfire and exclusions behind, whoever set them', async () => {
  await deploy(engine, [{ externalId: 'job', schedule: nightly }]);
  await engine.database.query(sql`
    update waybill.manifest set misfire_policy = 'fire_all', misfire_limit = 3, exclusions = '[{"type": "dates", "dates": ["2026-12-25"]}]'`);
  await deploy(engine, [{ externalId: 'job', schedule: { type: 'once', runAt: '2026-03-03T00:00:00Z' } }]);
  expect(await manifest('job')).toMatchObject({
    misfire_policy: 'fire_once',
    exclusions: [],
    next_due_at: new Date('2026-03-03T00:00:00Z'),
  });
});

describe('a manifest that gets another workflow and its input', () => {
  const workflows = ['work', 'other'];
  const of = (workflow: string, more = {}) => ({ externalId: 'a', workflow, input: { for: workflow }, ...more });
  const admitted = async () => {
    await engine.dispatch();
    return engine.rows<Row>(sql`select workflow_name as workflow, input ->> 'for' as for from waybill.execution order by id`);
  };
  const person = () => ({ ...engine, initiator: { type: 'user' as const, id: 'u1', name: 'Ada' } });

  it('runs a tick that is queued with both, never with a mixture', async () => {
    await deploy(engine, [of('work')], { workflows });
    await engine.manage();
    await deploy(engine, [of('other')], { workflows });
    expect(await admitted()).toEqual([{ workflow: 'other', for: 'other' }]);
  });

  it('takes a tick along to its pool', async () => {
    await deploy(engine, [of('work')], { workflows });
    await engine.manage();
    await deploy(engine, [of('other', { pool: 'heavy' })], { workflows });
    expect(await engine.rows(sql`select workflow_name, pool from waybill.work_queue`)).toEqual([{ workflow_name: 'other', pool: 'heavy' }]);
  });

  it('runs what is queued for a success with both', async () => {
    const parent = { externalId: 'parent', schedule: { type: 'none' as const } };
    const schedule = { type: 'dependent' as const, dependsOn: ['parent'], mode: 'all' as const };
    await deploy(engine, [parent, of('work', { schedule })], { workflows });
    await trigger(person(), { externalId: 'parent' });
    await engine.dispatch();
    await engine.deliver();
    await engine.manage();
    await deploy(engine, [parent, of('other', { schedule })], { workflows });
    expect((await admitted()).at(-1)).toMatchObject({ workflow: 'other', for: 'other' });
  });

  it('leaves a trigger the workflow and the input that it was asked with', async () => {
    await deploy(engine, [of('work', { schedule: { type: 'none' } })], { workflows });
    await trigger(person(), { externalId: 'a' });
    await deploy(engine, [of('other', { schedule: { type: 'none' } })], { workflows });
    expect(await admitted()).toMatchObject([{ workflow: 'work', for: 'work' }]);
  });

  it('leaves a tick that was triggered with its input alone', async () => {
    await deploy(engine, [of('work')], { workflows });
    await engine.manage();
    await trigger(person(), { externalId: 'a', input: { for: 'work' } });
    await deploy(engine, [of('other')], { workflows });
    expect(await admitted()).toMatchObject([{ workflow: 'work', for: 'work' }]);
  });
});

describe('a manifest that moves to another group', () => {
  const entries = () =>
    engine.rows<Row>(sql`
      select w.status, g.name as group_name from waybill.work_queue w join waybill.manifest_group g on g.id = w.group_id order by w.id`);

  it('takes its queued entries along, and they run within the limits of the new one', async () => {
    await deploy(engine, [
      { externalId: 'a', group: 'from' },
      { externalId: 'b', group: 'from' },
    ]);
    await engine.manage();
    const groups = [{ name: 'to', maxActiveJobs: 1 }];
    const moved = [
      { externalId: 'a', group: 'to' },
      { externalId: 'b', group: 'to' },
    ];
    expect(await deploy(engine, moved, { groups })).toMatchObject({ changedFields: { a: ['group'], b: ['group'] } });
    expect(await entries()).toEqual(Array(2).fill({ status: 'queued', group_name: 'to' }));
    expect(await engine.dispatch()).toMatchObject({ admittedCount: 1 });
  });

  it('leaves a held group behind with nothing that waits in it', async () => {
    await deploy(engine, [{ externalId: 'a', group: 'from' }]);
    await engine.manage();
    await engine.database.query(sql`update waybill.manifest_group set is_enabled = false where name = 'from'`);
    await deploy(engine, [{ externalId: 'a', group: 'to' }]);
    await engine.dispatch();
    expect(await engine.deliver()).toMatchObject([{ state: 'completed' }]);
  });

  it('while it runs, keeps the slot it has and retries in the new group', async () => {
    await deploy(engine, [{ externalId: 'a', group: 'from' }]);
    await engine.manage();
    await engine.dispatch();
    await deploy(engine, [{ externalId: 'a', group: 'to' }]);
    expect(await engine.rows(sql`select g.name from waybill.execution e join waybill.manifest_group g on g.id = e.group_id`)).toEqual([
      { name: 'from' },
    ]);
    await engine.deliver([workflowNamed('work', () => Promise.reject(new Error('no')))]);
    expect(await entries()).toEqual([
      { status: 'dispatched', group_name: 'from' },
      { status: 'queued', group_name: 'to' },
    ]);
  });

  it('after it was dead-lettered, is retried in the new group', async () => {
    await deploy(engine, [{ externalId: 'a', group: 'from', maxAttempts: 1 }]);
    await engine.manage();
    await engine.dispatch();
    await engine.deliver([workflowNamed('work', () => Promise.reject(new Error('no')))]);
    await deploy(engine, [{ externalId: 'a', group: 'to', maxAttempts: 1 }]);
    const [letter] = await engine.rows<{ id: string }>(sql`select id::text from waybill.dead_letter`);
    await retryDeadLetter({ ...engine, initiator: { type: 'user', id: null, name: null } }, letter!.id);
    expect((await entries()).at(-1)).toEqual({ status: 'queued', group_name: 'to' });
  });

  it('is not lost by a claim that looks at its entry at the same time', async () => {
    for (let round = 0; round < 10; round++) {
      await clear(engine);
      await deploy(engine, [{ externalId: 'a', group: 'from' }]);
      await engine.manage();
      await Promise.all([deploy(engine, [{ externalId: 'a', group: 'to' }]), engine.dispatch(), engine.dispatch()]);
      await engine.dispatch();
      expect(await engine.deliver()).toMatchObject([{ state: 'completed' }]);
    }
  });
});

describe('another owner’s workflow', () => {
  it('is not taken over: the deployment is refused as a whole, naming both', async () => {
    await deploy(engine, [], { owner: 'other', workflows: ['work', 'load'] });
    await expect(deploy(engine, [{ externalId: 'job' }], { workflows: ['work', 'mine'] })).rejects.toMatchObject({
      code: 'foreign_workflow',
      message: "app 'test' declares workflows of another owner: 'work' belongs to 'other'. Choose other names, or remove them there first",
    });
    expect(await engine.rows(sql`select name, owner from waybill.workflow order by name`)).toEqual([
      { name: 'load', owner: 'other' },
      { name: 'work', owner: 'other' },
    ]);
  });

  it('is free once it was removed there', async () => {
    await deploy(engine, [], { owner: 'other', workflows: ['work', 'load'] });
    await deploy(engine, [], { owner: 'other', workflows: ['load'] });
    expect(await deploy(engine, [{ externalId: 'job' }])).toMatchObject({ workflows: { created: ['work'], changed: [], removed: [] } });
  });
});

it('a dependent of a manifest that the same deployment removes is refused: it would never run again', async () => {
  await deploy(engine, [{ externalId: 'parent' }, { externalId: 'job' }]);
  await expect(
    deploy(engine, [{ externalId: 'job', schedule: { type: 'dependent', dependsOn: ['parent'], mode: 'all' } }]),
  ).rejects.toMatchObject({
    code: 'unknown_parent',
    message: "dependents name parents that do not exist: 'job' depends on 'parent'. Declare the parent, or correct its id",
  });
});

describe('the audit trail', () => {
  const trail = () =>
    engine.rows<Row>(sql`
      select initiator_type as type, initiator_id as id, initiator_name as name, action, target, before, after from waybill.audit_event order by audit_event.id`);

  it('says which deployment created, changed and removed what', async () => {
    await deploy(engine, [{ externalId: 'parent' }, { externalId: 'job', group: 'parent' }, { externalId: 'gone', group: 'parent' }]);
    await engine.database.query(sql`truncate waybill.audit_event`);
    const { deploymentVersion } = await deploy(
      engine,
      [
        { externalId: 'parent' },
        { externalId: 'job', group: 'parent', input: { a: 1 }, schedule: { type: 'dependent', dependsOn: ['parent'], mode: 'all' } },
        { externalId: 'new', group: 'parent', schedule: nightly },
      ],
      { workflows: ['work', 'more'], groups: [{ name: 'parent', maxActiveJobs: 2 }] },
    );
    const who = { type: 'deployment', id: String(deploymentVersion), name: 'test' };
    const settings = { priority: 0, maxActiveJobs: null, isEnabled: true };
    expect(await trail()).toEqual([
      { ...who, action: 'workflow.create', target: 'more', before: null, after: null },
      { ...who, action: 'group.change', target: 'parent', before: settings, after: { ...settings, maxActiveJobs: 2 } },
      { ...who, action: 'manifest.create', target: 'new', before: null, after: { workflow: 'work', group: 'parent', schedule: nightly } },
      {
        ...who,
        action: 'manifest.change',
        target: 'job',
        before: {
          dependsOn: [],
          input: {},
          mode: null,
          schedule: { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' },
        },
        after: { dependsOn: ['parent'], input: { a: 1 }, mode: 'all', schedule: { type: 'dependent' } },
      },
      { ...who, action: 'manifest.remove', target: 'gone', before: null, after: { isRetiring: false } },
    ]);
  });

  it('says nothing when nothing changed', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.database.query(sql`truncate waybill.audit_event`);
    await deploy(engine, [{ externalId: 'job' }]);
    expect(await trail()).toEqual([]);
  });
});
