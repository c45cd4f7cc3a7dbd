import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ScheduleDefinition } from '../../shared/define/definition.ts';
import type { OperationContext } from '../../shared/operations/context.ts';
import { readManifest } from '../../shared/operations/read-manifest.ts';
import { removeManifest } from '../../shared/operations/remove-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { deploy } from '../define/use-sync.ts';
import { useFreshEngine } from '../support/engine.ts';

const engine = useFreshEngine();
let context: OperationContext;

beforeEach(() => {
  context = { ...engine, initiator: { type: 'user', id: 'u1', name: 'Ada' } };
});

const following = (...dependsOn: string[]): { schedule: ScheduleDefinition } => ({
  schedule: { type: 'dependent', dependsOn, mode: 'all' },
});
const entries = () => engine.rows(sql`select status, cancel_reason from waybill.work_queue order by id`);

describe('removing a manifest', () => {
  it('deletes it, cancels what is queued, and writes down who did it', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.manage();
    expect(await removeManifest(context, 'job')).toEqual({ outcome: 'deleted', orphaned: [] });
    expect(await readManifest(engine.database, 'job')).toBeUndefined();
    expect(await entries()).toEqual([{ status: 'cancelled', cancel_reason: 'removed by Ada' }]);
    expect(await engine.rows(sql`select action, target, after from waybill.audit_event where initiator_name = 'Ada'`)).toEqual([
      { action: 'manifest.remove', target: 'job', after: { isRetiring: false } },
    ]);
    await expect(removeManifest(context, 'job')).rejects.toMatchObject({ code: 'manifest_not_found' });
  });

  it('lets one that runs end, and repeated says the same', async () => {
    await deploy(engine, [{ externalId: 'job' }]);
    await engine.manage();
    await engine.dispatch();
    expect(await removeManifest(context, 'job')).toEqual({ outcome: 'retiring', orphaned: [] });
    expect(await removeManifest(context, 'job')).toEqual({ outcome: 'retiring', orphaned: [] });
    expect(await readManifest(engine.database, 'job')).toMatchObject({ state: 'retiring', nextDueAt: null });
    expect(await engine.deliver()).toMatchObject([{ state: 'completed' }]);
    expect(await readManifest(engine.database, 'job')).toBeUndefined();
  });

  it('leaves dependents without a parent orphaned, and shows them so', async () => {
    await deploy(engine, [
      { externalId: 'parent' },
      { externalId: 'other', schedule: { type: 'none' } },
      { externalId: 'child', ...following('parent') },
      { externalId: 'dormant', schedule: { type: 'dormant_dependent', dependsOn: ['parent'], mode: 'all' } },
      { externalId: 'of-both', ...following('parent', 'other') },
    ]);
    expect(await removeManifest(context, 'parent')).toEqual({ outcome: 'deleted', orphaned: ['child', 'dormant'] });
    expect(await readManifest(engine.database, 'child')).toMatchObject({ state: 'orphaned' });
    expect(await readManifest(engine.database, 'dormant')).toMatchObject({ state: 'orphaned' });
    expect(await readManifest(engine.database, 'of-both')).toMatchObject({ state: 'waiting', schedule: { dependsOn: ['other'] } });
    await engine.manage();
    expect(await entries()).toEqual([]);
  });

  it('is undone, as a new one, by an app that still declares it', async () => {
    await deploy(engine, [{ externalId: 'job' }, { externalId: 'child', ...following('job') }]);
    await removeManifest(context, 'job');
    expect(await deploy(engine, [{ externalId: 'job' }, { externalId: 'child', ...following('job') }])).toMatchObject({
      created: ['job'],
      changed: ['child'],
    });
    await trigger(context, { externalId: 'job' });
    expect(await readManifest(engine.database, 'child')).toMatchObject({ state: 'waiting' });
  });
});
