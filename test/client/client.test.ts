import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { Client } from '../../shared/client/client.ts';
import { cron, every, handle } from '../../shared/client/index.ts';
import { sql } from '../../shared/db/sql.ts';
import { workflow } from '../../shared/index.ts';
import { START, useClients, type Way } from './use-client.ts';

const { engine, connect } = useClients();
const work = workflow({ name: 'work', input: z.object({ table: z.string(), size: z.number().optional() }), run: () => null });
const input = { table: 'orders' };

type Row = Record<string, unknown>;
const rows = () =>
  engine.rows<Row>(sql`select * from waybill.manifest where owner = 'runtime' and deleted_at is null order by external_id`);
const parents = () =>
  engine.rows(sql`
    select c.external_id as child, p.external_id as parent
      from waybill.manifest_dependency d join waybill.manifest c on c.id = d.child_id join waybill.manifest p on p.id = d.parent_id order by 1, 2`);

describe.each<[Way]>([['database'], ['http']])('over %s', (way) => {
  let client: Client;
  beforeEach(() => {
    client = connect(way);
  });

  describe('schedule', () => {
    it('declares a manifest, says so, and pokes the manager after the commit', async () => {
      const options = { group: { maxActiveJobs: 2 }, priority: 3, misfire: { fireAll: 5 } };
      expect(await client.schedule(work, 'job', input, cron('0 2 * * *', { timeZone: 'Asia/Tokyo' }), options)).toEqual({
        externalId: 'job',
        outcome: 'created',
      });
      expect(await rows()).toMatchObject([
        {
          external_id: 'job',
          workflow_name: 'work',
          input,
          time_zone: 'Asia/Tokyo',
          priority: 3,
          misfire_policy: 'fire_all',
          misfire_limit: 5,
          next_due_at: new Date('2026-03-02T17:00:00Z'),
        },
      ]);
      expect(await engine.rows(sql`select max_active_jobs from waybill.manifest_group where name = 'job'`)).toEqual([
        { max_active_jobs: 2 },
      ]);
      expect(engine.doorbell.managerPokes).toHaveLength(1);
    });

    it('changes it, or nothing, when it is declared again', async () => {
      await client.schedule(work, 'job', input, every.minutes(5));
      expect(await client.schedule(work, 'job', input, every.minutes(5))).toMatchObject({ outcome: 'unchanged' });
      expect(await client.schedule(work, 'job', input, every.minutes(6))).toMatchObject({ outcome: 'changed' });
    });

    it('takes a workflow by its name', async () => {
      await client.schedule('work', 'job', { anything: [1] }, every.hours(1, { anchor: 'completion' }), {
        exclude: [{ type: 'dates', dates: ['2026-12-25'] }],
      });
      expect(await rows()).toMatchObject([
        { input: { anything: [1] }, anchor: 'completion', exclusions: [{ type: 'dates', dates: ['2026-12-25'] }] },
      ]);
    });
  });

  it('scheduleMany declares a batch in one transaction, items before the batch, group called like it', async () => {
    const items = [
      { id: 'a', input: { table: 'a' } },
      { id: 'b', input: { table: 'b' }, priority: 9, group: 'own' },
    ];
    expect(await client.scheduleMany(work, 'delta', items, every.seconds(10), { priority: 1 })).toEqual([
      { externalId: 'delta-a', outcome: 'created' },
      { externalId: 'delta-b', outcome: 'created' },
    ]);
    expect(await rows()).toMatchObject([
      { external_id: 'delta-a', priority: 1 },
      { external_id: 'delta-b', priority: 9 },
    ]);
    expect(await engine.rows(sql`select name from waybill.manifest_group order by name`)).toEqual(
      ['delta', 'of-the-app', 'own'].map((name) => ({ name })),
    );
    const one = { id: 'c', input: { table: 'c' } };
    await expect(client.scheduleMany(work, 'delta', [one, { id: 'd e', input: { table: 'd' } }], every.seconds(10))).rejects.toThrow(
      "manifest 'delta-d e'",
    );
    expect(await rows()).toHaveLength(2);
    expect(await client.scheduleMany(work, 'delta', [], every.seconds(10))).toEqual([]);
  });

  it('scheduleDependent declares what runs after its parents, by id or handle', async () => {
    await client.schedule(work, 'first', input, every.hours(1));
    await client.scheduleDependent(work, 'second', input, { dependsOn: ['of-the-app', handle(work, 'first')], mode: 'any' });
    await client.scheduleDependent(work, 'sleeper', input, { dependsOn: 'second', dormant: true });
    expect(await parents()).toEqual([
      { child: 'second', parent: 'first' },
      { child: 'second', parent: 'of-the-app' },
      { child: 'sleeper', parent: 'second' },
    ]);
    expect(await rows()).toMatchObject([
      {},
      { schedule_type: 'dependent', dependency_mode: 'any' },
      { schedule_type: 'dormant_dependent' },
    ]);
  });

  it('scheduleManyDependent declares a batch of them, of each other too', async () => {
    const items = [
      { id: 'a', input, dependsOn: 'of-the-app' },
      { id: 'b', input, dependsOn: 'silver-a' },
    ];
    expect(await client.scheduleManyDependent(work, 'silver', items)).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }]);
    expect(await parents()).toEqual([
      { child: 'silver-a', parent: 'of-the-app' },
      { child: 'silver-b', parent: 'silver-a' },
    ]);
  });

  it('scheduleOnce declares one run at an instant', async () => {
    await client.scheduleOnce(work, 'job', input, new Date('2026-04-01T00:00:00Z'), { maxAttempts: 1 });
    expect(await rows()).toMatchObject([{ schedule_type: 'once', run_at: new Date('2026-04-01T00:00:00Z'), max_attempts: 1 }]);
  });

  it('trigger, run and cancel do what they say, and poke the dispatcher', async () => {
    const { outcome, queueEntryId } = await client.trigger(handle(work, 'of-the-app'), { input });
    expect(outcome).toBe('queued');
    expect(await client.trigger('of-the-app')).toEqual({ outcome: 'already_queued', queueEntryId, behindExecutionId: null });
    expect(await client.run(work, input, { maxAttempts: 2 })).toEqual({ queueEntryId: expect.any(String) });
    expect(engine.doorbell.dispatcherPokes).toBe(3);
    await engine.dispatch();
    const [live] = await engine.rows<{ id: string }>(sql`select id::text from waybill.execution order by id limit 1`);
    expect(await client.cancel(live!.id)).toEqual({ outcome: 'cancelled' });
    await expect(client.cancel(live!.id)).rejects.toMatchObject({ code: 'already_finished' });
  });

  it('run takes a built-in workflow, whose name has a slash', async () => {
    await engine.database.query(sql`
      insert into waybill.workflow (name, owner, pool, deployment_version) select 'waybill/http', owner, pool, deployment_version from waybill.workflow`);
    expect(await client.run('waybill/http', { url: 'https://example.com' })).toEqual({ queueEntryId: expect.any(String) });
    await expect(client.run('waybill//http', {})).rejects.toMatchObject({ code: 'workflow_not_found' });
  });

  it('disable, enable and remove do what they say', async () => {
    await client.schedule(work, 'job', input, every.hours(1));
    await client.scheduleDependent(work, 'child', input, { dependsOn: 'job' });
    await client.disable('job');
    expect((await rows()).at(-1)).toMatchObject({ is_enabled: false });
    await client.enable(handle(work, 'job'));
    expect((await rows()).at(-1)).toMatchObject({ is_enabled: true });
    expect(await client.remove('job')).toEqual({ outcome: 'deleted', orphaned: ['child'] });
    expect(await rows()).toHaveLength(1);
  });

  it('writes down who asked', async () => {
    await client.schedule(work, 'job', input, every.hours(1));
    expect(await engine.rows(sql`select distinct initiator_name as name from waybill.audit_event where target = 'job'`)).toEqual([
      { name: 'ada' },
    ]);
  });
});

/** What is refused is refused with the same code and the same words, whichever way it was asked. */
describe('both ways refuse alike', () => {
  const refusals: [string, (client: Client) => Promise<unknown>, string, string][] = [
    [
      'an input that the schema refuses',
      (client) => client.schedule(work, 'job', { table: 7 } as never, every.hours(1)),
      'invalid_manifest',
      "manifest 'job': its input is invalid at 'table'",
    ],
    [
      'an input that JSON would change',
      (client) => client.schedule('work', 'job', { size: Number.NaN }, every.hours(1)),
      'invalid_manifest',
      "manifest 'job': its input is not JSON at 'size': NaN",
    ],
    [
      'an input that cannot be stored',
      (client) => client.schedule('work', 'job', 'a\0b', every.hours(1)),
      'invalid_manifest',
      "manifest 'job': its input cannot be stored",
    ],
    [
      'a schedule that is none',
      (client) => client.schedule(work, 'job', input, '0 2 * * *' as never),
      'invalid_manifest',
      "its schedule must be made by 'every' or 'cron'",
    ],
    [
      'a bad cron',
      (client) => client.schedule(work, 'job', input, cron('61 * * * *')),
      'invalid_manifest',
      "manifest 'job': cron expression '61 * * * *' is invalid",
    ],
    ['a bad id', (client) => client.schedule(work, 'a b/c', input, every.hours(1)), 'invalid_manifest', "manifest 'a b/c': its id must be"],
    [
      'an unknown option',
      (client) => client.schedule(work, 'job', input, every.hours(1), { prioirty: 1 } as never),
      'invalid_manifest',
      "option 'prioirty' does not exist",
    ],
    [
      'a number out of range',
      (client) => client.schedule(work, 'job', input, every.hours(1), { priority: 99 }),
      'invalid_manifest',
      'priority must be a whole number from 0 to 31, got 99',
    ],
    [
      'an item without id',
      (client) => client.scheduleMany(work, 'many', [{ input } as never], every.hours(1)),
      'invalid_manifest',
      "batch 'many': item 1 must have an id",
    ],
    [
      'two items of one id',
      (client) =>
        client.scheduleMany(
          work,
          'many',
          [
            { id: 'a', input },
            { id: 'a', input },
          ],
          every.hours(1),
        ),
      'invalid_manifest',
      "manifest 'many-a' is given twice",
    ],
    [
      'no parents',
      (client) => client.scheduleDependent(work, 'job', input, { dependsOn: [] }),
      'invalid_manifest',
      'it depends on nothing',
    ],
    [
      'an unknown parent',
      (client) => client.scheduleDependent(work, 'job', input, { dependsOn: 'nobody' }),
      'unknown_parent',
      "'job' depends on 'nobody'",
    ],
    ['a circle', (client) => client.scheduleDependent(work, 'job', input, { dependsOn: 'job' }), 'circular_dependency', 'job → job'],
    [
      'an invalid instant',
      (client) => client.scheduleOnce(work, 'job', input, new Date('nonsense')),
      'invalid_manifest',
      "instant 'Invalid Date' is invalid",
    ],
    [
      'an unknown workflow',
      (client) => client.schedule('unknown', 'job', {}, every.hours(1)),
      'workflow_not_found',
      "workflow 'unknown' is not deployed",
    ],
    [
      'an app’s manifest',
      (client) => client.schedule(work, 'of-the-app', input, every.hours(1)),
      'foreign_manifest',
      "belongs to app 'test'",
    ],
    ['to trigger what does not exist', (client) => client.trigger('a b/ü'), 'manifest_not_found', "manifest 'a b/ü' does not exist"],
    [
      'to trigger with an input that cannot be stored',
      (client) => client.trigger('of-the-app', { input: { __proto__: null, fn: () => 1 } }),
      'invalid_input',
      'its input is not JSON',
    ],
    [
      'a negative delay',
      (client) => client.trigger('of-the-app', { delaySeconds: -1 }),
      'invalid_request',
      'delaySeconds must be a whole number',
    ],
    ['to run an unknown workflow', (client) => client.run('unknown', {}), 'workflow_not_found', "workflow 'unknown' is not deployed"],
    ['to run with what the schema refuses', (client) => client.run(work, {} as never), 'invalid_input', "its input is invalid at 'table'"],
    ['to run a workflow without a name', (client) => client.run('', {}), 'workflow_not_found', "workflow '' is not deployed"],
    ['to cancel something else', (client) => client.cancel('7/rerun'), 'execution_not_found', "execution '7/rerun' does not exist"],
    ['to cancel what does not exist', (client) => client.cancel('7'), 'execution_not_found', "execution '7' does not exist"],
    ['to enable what does not exist', (client) => client.enable('unknown'), 'manifest_not_found', "manifest 'unknown' does not exist"],
    ['to disable what does not exist', (client) => client.disable('unknown'), 'manifest_not_found', "manifest 'unknown' does not exist"],
    ['to remove what does not exist', (client) => client.remove('unknown'), 'manifest_not_found', "manifest 'unknown' does not exist"],
  ];

  it.each(refusals)('%s', async (_, act, code, message) => {
    const [first, second] = await Promise.all(
      (['database', 'http'] as const).map((way) => act(connect(way)).catch((error: unknown) => error)),
    );
    expect(first).toMatchObject({ code, message: expect.stringContaining(message) });
    const { name, retryable, message: same } = first as { name: string; retryable: boolean; message: string };
    expect(second).toMatchObject({ code, name, retryable, message: same });
    expect(await rows()).toEqual([]);
  });
});

it('inputs are typed by the workflow, and free for one that is only named', () => {
  const client = connect('database');
  type Schedule = typeof client.schedule<typeof work>;
  expectTypeOf<Parameters<Schedule>[2]>().toEqualTypeOf<{ table: string; size?: number | undefined }>();
  expectTypeOf<Parameters<typeof client.schedule<'work'>>[2]>().toBeUnknown();
  const uncalled = () => {
    // @ts-expect-error a required field is missing
    client.schedule(work, 'job', {}, every.hours(1));
    // @ts-expect-error a one-time run has no misfires
    client.scheduleOnce(work, 'job', input, START, { misfire: 'skip' });
    // @ts-expect-error a dependent names its parents
    client.scheduleDependent(work, 'job', input, {});
    // @ts-expect-error an item of another type
    client.scheduleMany(work, 'job', [{ id: 'a', input: { tabel: 'x' } }], every.hours(1));
  };
  expect(uncalled).toBeTypeOf('function');
});
