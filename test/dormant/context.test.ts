import { beforeEach, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { createDormant } from '../../shared/executor/create-dormant.ts';
import type { ActivationResult, Capability } from '../../shared/model/dormant.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { runWorkflow } from '../../shared/operations/run-workflow.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { Behaviour } from '../engine/use-world.ts';
import { workflowNamed } from '../support/engine.ts';
import { child, dormantBelow, parent, useDormants } from './use-dormants.ts';

const world = useDormants();
const sibling = { externalId: 'sibling', schedule: dormantBelow('parent') };
const skipped = { externalId: 'child', outcome: 'skipped', reason: 'already_queued' };
const inputs = async (externalId = 'child') => (await world.runs(externalId)).map(({ input }) => input);
const activations = () => world.rows<{ input: unknown }>(sql`select input from waybill.work_queue where origin = 'activation' order by id`);

/** What the parent does in each of its attempts; whatever else runs only succeeds. */
function parentDoes(...attempts: Behaviour[]): void {
  world.behaviour = (ctx, input) => (ctx.execution.manifest === 'parent' ? attempts[ctx.attempt - 1]?.(ctx, input) : { ok: true });
}

interface ParentRow {
  id: number;
  state: string;
  failure_message: string | null;
}

/** One run of the parent, attempt after attempt, and of what it activated. */
async function runParent(): Promise<ParentRow[]> {
  await trigger(world.context, { externalId: 'parent' });
  await world.drain();
  return world.rows<ParentRow>(sql`
    select e.id, e.state, e.failure_message from waybill.execution e join waybill.manifest m on m.id = e.manifest_id
     where m.external_id = 'parent' and e.parent_id is null order by e.id`);
}

beforeEach(() => world.sync([parent, child, sibling]));

describe('ctx.dormant', () => {
  it('activates by id or by handle, with an input of its own for each', async () => {
    const results: ActivationResult[] = [];
    parentDoes(async ({ dormant }) => {
      results.push(await dormant.activate('child', { n: 1 }));
      results.push(await dormant.activate({ externalId: 'sibling', workflow: workflowNamed('work') }, { n: 2 }));
    });
    expect(await runParent()).toMatchObject([{ state: 'completed' }]);
    expect(results).toMatchObject([
      { externalId: 'child', outcome: 'activated' },
      { externalId: 'sibling', outcome: 'activated' },
    ]);
    expect([await inputs('child'), await inputs('sibling')]).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });

  it('activates many at once, and answers in their order', async () => {
    let results: ActivationResult[] = [];
    parentDoes(async ({ dormant }) => {
      results = await dormant.activateMany([{ externalId: 'sibling', input: { n: 2 } }, { externalId: 'child' }]);
    });
    await runParent();
    expect(results).toMatchObject([{ externalId: 'sibling' }, { externalId: 'child' }]);
    expect([await inputs('child'), await inputs('sibling')]).toEqual([[{ own: true }], [{ n: 2 }]]);
  });

  it('asked twice for the same one in one run, records two activations and skips the second, which finds it queued', async () => {
    const results: ActivationResult[] = [];
    parentDoes(async ({ dormant, execution }) => {
      results.push(await dormant.activate('child', { n: 1 }), await dormant.activate('child', { n: 2 }));
      expect((await world.steps({ executionId: execution.id, leaseToken: '' })).map(({ name }) => name)).toEqual([
        'activate:child#1',
        'activate:child#2',
      ]);
    });
    expect(await runParent()).toMatchObject([{ state: 'completed' }]);
    expect(results).toMatchObject([{ outcome: 'activated' }, skipped]);
    expect(await inputs()).toEqual([{ n: 1 }]);
  });

  it('given the same one twice in one call, takes the first and skips the second', async () => {
    let results: ActivationResult[] = [];
    parentDoes(async ({ dormant }) => {
      results = await dormant.activateMany([
        { externalId: 'child', input: { n: 1 } },
        { externalId: 'child', input: { n: 2 } },
      ]);
    });
    await runParent();
    expect(results).toMatchObject([{ outcome: 'activated' }, skipped]);
    expect(await inputs()).toEqual([{ n: 1 }]);
  });

  it('gives the capability that another function needs, and the context itself does not show it', async () => {
    let capability: Capability | undefined;
    parentDoes(async (ctx) => {
      capability = ctx.dormant.capability();
      expect(JSON.stringify(ctx)).not.toContain(capability.leaseToken);
      await world.activate(capability, [{ externalId: 'child', input: { by: 'another' } }]);
    });
    const [run] = await runParent();
    expect(capability).toEqual({ executionId: String(run!.id), leaseToken: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(await inputs()).toEqual([{ by: 'another' }]);
  });
});

describe('a parent that fails after it has activated, and is retried,', () => {
  it('gets the same results, and nothing is activated twice, also when the dependent has run meanwhile', async () => {
    const results: ActivationResult[][] = [];
    const ask: Behaviour = async ({ dormant }) => {
      results.push([
        await dormant.activate('child', { n: 1 }),
        ...(await dormant.activateMany([{ externalId: 'sibling' }, { externalId: 'child' }])),
      ]);
    };
    parentDoes(async (ctx, input) => {
      await ask(ctx, input);
      throw new Error('no');
    }, ask);
    expect(await runParent()).toMatchObject([{ state: 'failed' }, { state: 'completed' }]);
    expect(results[0]).toMatchObject([{ outcome: 'activated' }, { outcome: 'activated' }, skipped]);
    expect(results[1]).toEqual(results[0]);
    expect(await inputs('child')).toEqual([{ n: 1 }]);
    expect(await activations()).toHaveLength(2);
  });

  it('gets the recorded result also for an input that it computes anew', async () => {
    const results: ActivationResult[] = [];
    parentDoes(
      async ({ dormant }) => {
        results.push(await dormant.activate('child', { attempt: 1 }));
        throw new Error('no');
      },
      async ({ dormant }) => results.push(await dormant.activate('child', { attempt: 2 })),
    );
    await runParent();
    expect(results[1]).toEqual(results[0]);
    expect(await inputs()).toEqual([{ attempt: 1 }]);
  });

  it('goes on to activate what it had not come to before', async () => {
    parentDoes(
      async ({ dormant }) => {
        await dormant.activate('child', { n: 1 });
        throw new Error('no');
      },
      async ({ dormant }) => {
        await dormant.activate('child', { n: 1 });
        await dormant.activate('sibling', { n: 2 });
      },
    );
    await runParent();
    expect([await inputs('child'), await inputs('sibling')]).toEqual([[{ n: 1 }], [{ n: 2 }]]);
  });

  it('begins anew in its next run', async () => {
    parentDoes(({ dormant }) => dormant.activate('child', { n: 1 }));
    await runParent();
    await runParent();
    expect(await inputs()).toEqual([{ n: 1 }, { n: 1 }]);
  });
});

describe('the run fails with the reason when', () => {
  it('it asks for what cannot be activated', async () => {
    parentDoes(({ dormant }) => dormant.activate('nobody', {}));
    const [run] = await runParent();
    expect(run).toMatchObject({
      state: 'failed',
      failure_message: "'parent' cannot activate these, so nothing was queued: 'nobody' does not exist",
    });
  });

  it('it is an ad-hoc run, which has no dependents', async () => {
    world.behaviour = ({ dormant }) => dormant.activate('child', {});
    await runWorkflow(world.context, { workflow: 'work' });
    await world.drain();
    const [run] = await world.rows(sql`select state, failure_message from waybill.execution`);
    expect(run).toMatchObject({ state: 'failed', failure_message: expect.stringContaining("runs workflow 'work' without a manifest") });
    expect(await activations()).toEqual([]);
  });

  it('it asks inside a step, which would not be run again', async () => {
    parentDoes((ctx) => ctx.step('all', () => ctx.dormant.activate('child', {})));
    expect((await runParent())[0]).toMatchObject({
      state: 'failed',
      failure_message: expect.stringContaining("ctx.dormant is asked for inside step 'all'"),
    });
    expect(await activations()).toEqual([]);
  });

  it('its lease was lost meanwhile, and nothing is queued', async () => {
    parentDoes(async ({ dormant }) => {
      world.clock.advance(46);
      await dormant.activate('child', {});
    });
    await trigger(world.context, { externalId: 'parent' });
    await world.dispatch();
    await world.deliver();
    expect((await world.runs('parent'))[0]).toMatchObject({ failure_message: expect.stringContaining('does not run under this lease') });
    expect(await activations()).toEqual([]);
  });
});

describe('a nested workflow', () => {
  const finder = workflowNamed('finder', async ({ dormant }, { n }: { n: number }) => dormant.activate('child', { n }));

  it('activates in the name of the outermost, under names of its own', async () => {
    parentDoes(async (ctx) => {
      const nested = await ctx.run('find', finder, { n: 1 });
      const own = await ctx.dormant.activate('child', { n: 2 });
      expect([nested, own]).toMatchObject([{ outcome: 'activated' }, skipped]);
      expect((await world.steps({ executionId: ctx.execution.id, leaseToken: '' })).map(({ name }) => name)).toEqual([
        'find',
        'activate:child#find/1',
        'activate:child#1',
      ]);
    });
    expect(await runParent()).toMatchObject([{ state: 'completed' }]);
    expect(await inputs()).toEqual([{ n: 1 }]);
  });

  it('hands out the capability of the outermost: its own execution has no lease that could be lost', async () => {
    const handed: unknown[] = [];
    const giver = workflowNamed('giver', async ({ dormant, execution }) => {
      const { executionId, leaseToken } = dormant.capability();
      const asking = world.activate({ executionId: execution.id, leaseToken }, [{ externalId: 'child' }]);
      handed.push(executionId, await asking.catch((error: { code: string }) => error.code));
    });
    parentDoes((ctx) => ctx.run('give', giver, {}));
    const [run] = await runParent();
    expect(handed).toEqual([String(run!.id), 'lease_lost']);
  });

  it('that is not entered again takes nothing from the count of the others', async () => {
    const own: ActivationResult[] = [];
    const act: Behaviour = async (ctx) => {
      await ctx.run('find', finder, { n: 1 });
      if (ctx.attempt === 1) throw new Error('no');
      own.push(await ctx.dormant.activate('child', { n: 2 }));
    };
    parentDoes(act, act);
    expect(await runParent()).toMatchObject([{ state: 'failed' }, { state: 'completed' }]);
    expect(own).toMatchObject([{ outcome: 'activated' }]);
    expect(await inputs()).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

describe('the log warns', () => {
  const lines: { level: string; message: string; executionId: string; skipped?: unknown; externalIds?: unknown }[] = [];
  const begin = async () => {
    lines.length = 0;
    const capability = await world.begin();
    const log = createLogger('executor', (line) => lines.push(JSON.parse(line)));
    const { database, doorbell } = world;
    return { capability, open: () => createDormant({ database, doorbell, capability, log, signal: new AbortController().signal }) };
  };

  it('of what was skipped, with the reason', async () => {
    const { capability, open } = await begin();
    await open().activateMany([{ externalId: 'child' }, { externalId: 'child' }]);
    expect(lines).toMatchObject([
      { level: 'warn', executionId: capability.executionId, skipped: [{ externalId: 'child', reason: 'already_queued' }] },
    ]);
  });

  it('of an input that differs from the recorded one', async () => {
    const { open } = await begin();
    await open().activate('child', { n: 1 });
    await open().activate('child', { n: 2 });
    expect(lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('another input'), externalIds: ['child'] }]);
  });
});

it('after the run was told to stop, nothing more is activated', async () => {
  const capability = await world.begin();
  const { database, doorbell } = world;
  const log = createLogger('executor', () => {});
  const dormant = createDormant({ database, doorbell, capability, log, signal: AbortSignal.abort(new Error('cancelled')) });
  await expect(dormant.activate('child')).rejects.toThrow('cancelled');
  expect(await activations()).toEqual([]);
});
