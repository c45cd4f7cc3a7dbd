import { afterEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { patchManifest } from '../../shared/define/patch-manifest.ts';
import type { OperationContext } from '../../shared/operations/context.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { cronAt, everyMinute, following, none, onceAt, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;

/** Makes the database refuse every entry of one manifest, as a row that breaks a rule would be. */
async function refuseEntriesOf(externalId: string, event: 'insert' | 'update' = 'insert'): Promise<void> {
  const { id } = await world.manifest(externalId);
  await world.database.query({
    text: `create or replace function waybill.refuse() returns trigger language plpgsql as $$
             begin raise exception 'manifest ${id} is bad' using errcode = 'check_violation'; end $$;
           create or replace trigger refuse before ${event} on waybill.work_queue for each row when (new.manifest_id = ${id}) execute function waybill.refuse()`,
    values: [],
  });
}
const acceptEverything = () => world.database.query(sql`drop trigger if exists refuse on waybill.work_queue`);

afterEach(acceptEverything);

const switchBy = (isEnabled: boolean) => (context: OperationContext, externalId: string) =>
  patchManifest(context, externalId, { isEnabled });

describe('a manifest whose entry cannot be written', () => {
  it('is quarantined alone: the others of its batch are queued', async () => {
    await world.sync(Array.from({ length: 37 }, (_, index) => ({ externalId: `job-${index}`, schedule: everyMinute })));
    await refuseEntriesOf('job-20');
    expect(await world.manage()).toMatchObject({ queuedCount: 36, quarantinedCount: 1 });
    expect(await world.manifest('job-20')).toMatchObject({
      quarantine_error: expect.stringContaining('is bad'),
      last_skip_reason: 'quarantined',
      next_due_at: null,
    });
    world.clock.advance(60);
    expect(await world.manage()).toMatchObject({ quarantinedCount: 0 });
  });

  it.each([
    ['a cron', cronAt('0 * * * *')],
    ['an interval', { type: 'interval', intervalSeconds: 3_600, anchor: 'occurrence' } as const],
    ['a once', onceAt('01:00:00')],
  ])('%s is not due until it is redefined, and then runs for the occurrence it was refused for', async (_, schedule) => {
    await world.sync([{ externalId: 'job', schedule }]);
    world.clock.set(at('00:59:00'));
    await world.drain();
    const before = (await world.runs('job')).length;
    await refuseEntriesOf('job');
    world.clock.set(at('01:00:00'));
    await world.drain();
    world.clock.set(at('01:40:00'));
    await world.drain();
    expect(await world.runs('job')).toHaveLength(before);
    await acceptEverything();
    await world.sync([{ externalId: 'job', schedule, input: { mended: true } }]);
    await world.drain();
    expect((await world.runs('job')).slice(before)).toMatchObject([{ occurrence_at: at('01:00:00'), input: { mended: true } }]);
    expect(await world.manifest('job')).toMatchObject({ quarantine_error: null });
  });

  it.each([
    ['disabled and enabled', disableManifest, enableManifest],
    ['patched off and on', switchBy(false), switchBy(true)],
  ])('is not due again by being %s, and keeps the occurrence it was refused for', async (_, disable, enable) => {
    await world.sync([{ externalId: 'job', schedule: cronAt('0 * * * *') }]);
    await refuseEntriesOf('job');
    world.clock.set(at('01:00:00'));
    await world.drain();
    await acceptEverything();
    await disable(world.context, 'job');
    world.clock.set(at('01:40:00'));
    await enable(world.context, 'job');
    await world.drain();
    expect(await world.runs('job')).toEqual([]);
    expect(await world.manifest('job')).toMatchObject({
      is_enabled: true,
      quarantine_error: expect.stringContaining('is bad'),
      next_due_at: null,
      next_occurrence_at: at('01:00:00'),
    });
    await patchManifest(world.context, 'job', { priority: 1 });
    await world.drain();
    expect(await world.runs('job')).toMatchObject([{ occurrence_at: at('01:00:00') }]);
  });

  it('is quarantined by being enabled, if its schedule cannot be computed any more, and is due when it is declared anew', async () => {
    await world.sync([{ externalId: 'job', schedule: cronAt('0 * * * *') }]);
    await world.database.query(sql`update waybill.manifest set time_zone = 'Mars/Olympus', is_enabled = false, next_due_at = null`);
    await enableManifest(world.context, 'job');
    expect(await world.manifest('job')).toMatchObject({ quarantine_error: expect.stringContaining('Mars/Olympus'), next_due_at: null });
    await world.sync([{ externalId: 'job', schedule: cronAt('0 * * * *') }]);
    expect(await world.manifest('job')).toMatchObject({ quarantine_error: null, next_due_at: at('01:00:00') });
  });

  it('is quarantined alone also when it is a delayed trigger that the tick would bring forward', async () => {
    await world.sync(['bad', 'good'].map((externalId) => ({ externalId, schedule: cronAt('0 * * * *') })));
    for (const externalId of ['bad', 'good']) await trigger(world.context, { externalId, delaySeconds: 7_200 });
    await refuseEntriesOf('bad', 'update');
    world.clock.set(at('01:00:00'));
    expect(await world.manage()).toMatchObject({ queuedCount: 1, quarantinedCount: 1 });
    expect(await world.manifest('bad')).toMatchObject({
      quarantine_error: expect.stringContaining('is bad'),
      next_occurrence_at: at('01:00:00'),
    });
    expect(await world.entries('good')).toMatchObject([{ occurrence_at: at('01:00:00'), available_at: at('01:00:00') }]);
  });

  it('a dependent runs for its parent’s success once it is redefined', async () => {
    await world.sync([
      { externalId: 'parent', schedule: none },
      { externalId: 'child', schedule: following('parent') },
    ]);
    await refuseEntriesOf('child');
    await trigger(world.context, { externalId: 'parent' });
    await world.drain();
    expect(await world.manifest('child')).toMatchObject({ quarantine_error: expect.any(String) });
    await acceptEverything();
    await world.sync([
      { externalId: 'parent', schedule: none },
      { externalId: 'child', schedule: following('parent') },
    ]);
    await world.drain();
    expect(await world.runs('child')).toMatchObject([{ state: 'completed' }]);
  });
});

describe('a manifest whose schedule cannot be computed', () => {
  it('is quarantined alone, with the reason', async () => {
    await world.sync([
      { externalId: 'good', schedule: everyMinute },
      { externalId: 'bad', schedule: cronAt('0 * * * *') },
    ]);
    await world.database.query(sql`
      update waybill.manifest set cron_expression = '61 * * * *', next_due_at = waybill.now(), next_occurrence_at = waybill.now() where external_id = 'bad'`);
    await world.drain();
    expect(await world.runs('good')).toMatchObject([{ state: 'completed' }]);
    expect(await world.manifest('bad')).toMatchObject({ quarantine_error: expect.stringContaining('61'), next_due_at: null });
    await world.sync([{ externalId: 'good' }, { externalId: 'bad', schedule: cronAt('30 * * * *') }]);
    expect(await world.manifest('bad')).toMatchObject({ quarantine_error: null, next_due_at: at('00:30:00') });
  });
});
