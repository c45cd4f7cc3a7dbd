import { setTimeout as takeMs } from 'node:timers/promises';
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { Database } from '../../shared/db/database.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import { workflow } from '../../shared/define/workflow.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { cancelExecution } from '../../shared/operations/cancel-execution.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { workflowNamed } from '../support/engine.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
const note = (ctx: WorkflowContext, name: string, milliseconds = 0) =>
  ctx.step(name, async ({ signal }) => {
    world.done.push(name);
    await takeMs(milliseconds, undefined, { signal });
    return name;
  });
const short = { remainingMs: 900, timings: { graceMs: 30 } };
const states = async () => (await world.executions()).map(({ step_name, state, attempt }) => [step_name, state, attempt]);

/** What the nested workflow does. */
let inner: (ctx: WorkflowContext, input: { table: string }) => unknown;
const importTable = workflow({
  name: 'import-table',
  input: z.object({ table: z.string() }),
  run: (ctx, input) => inner(ctx, input),
});
beforeEach(() => {
  inner = (ctx) => note(ctx, 'download');
});

describe('a nested run', () => {
  it('is an execution of its own under the same run, with its own input, output and steps', async () => {
    inner = async (ctx, { table }) => ({ rows: 3, table, downloaded: await note(ctx, 'download') });
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'orders' });
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    const [root, child] = await world.executions();
    const output = { rows: 3, table: 'orders', downloaded: 'download' };
    expect(root).toMatchObject({ state: 'completed', output });
    expect(child).toMatchObject({
      state: 'completed',
      parent_id: root!.id,
      root_id: root!.id,
      run_id: root!.id,
      manifest_id: root!.manifest_id,
      workflow_name: 'import-table',
      step_name: 'import',
      input: { table: 'orders' },
      output,
      work_queue_id: null,
      attempt: 1,
      lease_expires_at: null,
      initiator_type: 'execution',
      initiator_id: String(root!.id),
    });
    expect((await world.steps()).map(({ name, kind, state, execution_id }) => [name, kind, state, execution_id])).toEqual([
      ['import', 'run', 'completed', root!.id],
      ['import/download', 'step', 'completed', child!.id],
    ]);
    expect(await world.manifest('job')).toMatchObject({ success_count: 1 });
  });

  it('shows in the answer about its parent, and has an answer of its own', async () => {
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'orders' });
    await world.begin();
    await world.invoke();
    const [root, child] = await world.executions();
    expect(await readExecution(world.database, String(root!.id))).toMatchObject({
      steps: [{ name: 'import', kind: 'run' }],
      children: [{ id: String(child!.id), workflow: 'import-table', stepName: 'import', state: 'completed' }],
    });
    expect(await readExecution(world.database, String(child!.id))).toMatchObject({
      parentId: String(root!.id),
      steps: [{ name: 'import/download', kind: 'step' }],
      attempts: [{ id: String(child!.id) }],
    });
  });

  it('has its own context: ids, names of steps, and a key that no other run of the workflow shares', async () => {
    const keys: string[] = [];
    inner = (ctx, { table }) => {
      keys.push(ctx.idempotencyKey);
      return { id: ctx.execution.id, runId: ctx.execution.runId, table };
    };
    world.behaviour = async (ctx) => {
      keys.push(ctx.idempotencyKey);
      const both = await Promise.all(['a', 'b'].map((table) => ctx.run(`import-${table}`, importTable, { table })));
      return both;
    };
    await world.begin();
    await world.invoke();
    const [root, ...nested] = await world.executions();
    const idOf = (name: string) => String(nested.find(({ step_name }) => step_name === name)!.id);
    expect(root!.output).toEqual([
      { id: idOf('import-a'), runId: String(root!.id), table: 'a' },
      { id: idOf('import-b'), runId: String(root!.id), table: 'b' },
    ]);
    expect(new Set(keys)).toEqual(new Set(['', '/import-a', '/import-b'].map((path) => `waybill-run-${root!.id}${path}`)));
  });

  it('may nest another, and names lead to it', async () => {
    const leaf = workflowNamed('leaf', (ctx) => note(ctx, 'pick'));
    inner = (ctx) => ctx.run('branch', leaf, {});
    world.behaviour = (ctx) => ctx.run('tree', importTable, { table: 'x' });
    await world.begin();
    await world.invoke();
    expect((await world.steps()).map(({ name }) => name)).toEqual(['tree', 'tree/branch', 'tree/branch/pick']);
    const [root, tree, branch] = await world.executions();
    expect([tree!.parent_id, branch!.parent_id, branch!.root_id]).toEqual([root!.id, tree!.id, root!.id]);
  });

  it('takes no slot', async () => {
    await world.rows(sql`update waybill.manifest_group set max_active_jobs = 1, updated_at = created_at`);
    inner = () => world.rows(sql`select count(*)::int as live from waybill.execution where state = 'in_progress'`);
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.invoke();
    expect((await world.executions())[0]).toMatchObject({ output: [{ live: 2 }] });
  });

  it('gives what its workflow gives, as JSON, and takes what its schema takes', async () => {
    const dated = workflow({ name: 'dated', input: z.object({ days: z.coerce.number() }), run: (_, { days }) => ({ at: new Date(days) }) });
    world.behaviour = async (ctx) => {
      const result = await ctx.run('date', dated, { days: '0' });
      expectTypeOf(result).toEqualTypeOf<{ at: string }>();
      // @ts-expect-error: the input has another name.
      void (() => ctx.run('date', dated, { hours: 1 }));
      return result;
    };
    await world.begin();
    await world.invoke();
    expect((await world.executions())[0]).toMatchObject({ output: { at: '1970-01-01T00:00:00.000Z' } });
  });
});

describe('a nested run that was completed', () => {
  it('is not run again by a later attempt, nor is anything in it asked for', async () => {
    world.behaviour = async (ctx) => {
      const result = await ctx.run('import', importTable, { table: 'x' });
      if (ctx.attempt === 1) throw new Error('not yet');
      return result;
    };
    await world.begin();
    await world.finish();
    expect(world.done).toEqual(['download']);
    expect(await states()).toEqual([
      [null, 'failed', 1],
      [null, 'completed', 2],
      ['import', 'completed', 1],
    ]);
    expect(world.lines.filter(({ message }) => String(message).includes('did not ask for'))).toEqual([]);
  });
});

describe('a nested run that fails', () => {
  it('fails the run around it, and the next attempt begins it again after the steps that were completed', async () => {
    inner = async (ctx) => {
      await note(ctx, 'download');
      if (ctx.attempt === 1) await ctx.step('load', () => Promise.reject(new Error('disk full')));
      return 'loaded';
    };
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.finish();
    expect(world.done).toEqual(['download']);
    expect(await world.executions()).toMatchObject([
      { state: 'failed', failure_code: 'thrown', failure_message: 'disk full', failure_step: 'import' },
      { state: 'completed', attempt: 2, output: 'loaded' },
      { step_name: 'import', state: 'failed', attempt: 1, failure_message: 'disk full', failure_step: 'import/load' },
      { step_name: 'import', state: 'completed', attempt: 2 },
    ]);
  });

  it('may be caught, and is not run again by a continuation', async () => {
    inner = () => {
      world.done.push('inner');
      throw new RangeError('no');
    };
    world.behaviour = async (ctx) => {
      const thrown = await ctx.run('import', importTable, { table: 'x' }).catch((error) => error.errorName);
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await note(ctx, name, 100);
      return thrown;
    };
    await world.begin();
    expect(await world.finish(short)).toBeGreaterThan(1);
    expect(world.done.filter((name) => name === 'inner')).toHaveLength(1);
    expect((await world.executions())[0]).toMatchObject({ state: 'completed', output: 'RangeError' });
  });

  it.each<[string, (ctx: WorkflowContext) => Promise<unknown>, string, object[]]>([
    [
      'because its schema refuses the input',
      (ctx) => ctx.run('import', importTable, { table: 7 } as never),
      "nested run 'import': the input is invalid: table:",
      [{ state: 'failed', failure_code: 'invalid_input' }],
    ],
    [
      'because its input cannot be stored',
      (ctx) => ctx.run('import', workflowNamed('any'), { big: 1n }),
      "the input of nested run 'import' cannot be stored: it is not JSON",
      [],
    ],
    [
      'because its output cannot be stored',
      (ctx) =>
        ctx.run(
          'import',
          workflowNamed('any', () => 1n),
          {},
        ),
      "nested run 'import': the output cannot be stored: it is not JSON",
      [{ state: 'failed', failure_code: 'invalid_output' }],
    ],
  ])('%s, dead-letters the run at once', async (_, behaviour, message, children) => {
    world.behaviour = behaviour;
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      { state: 'failed', next: 'dead_letter', failureMessage: expect.stringContaining(message) },
    ]);
    const [, ...nested] = await world.executions();
    expect(nested).toMatchObject(children);
    expect(await world.rows(sql`select reason from waybill.dead_letter`)).toEqual([{ reason: 'non_retryable' }]);
  });

  it('inside of a step is refused', async () => {
    world.behaviour = (ctx) => ctx.step('outer', () => ctx.run('import', importTable, { table: 'x' }));
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      { failureMessage: expect.stringContaining("run 'import' is asked for inside step 'outer'") },
    ]);
  });
});

describe('a nested run that takes longer than the function', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  it('waits in between and is taken up again by its name, with the input it began with', async () => {
    const inputs: unknown[] = [];
    inner = async (ctx, input) => {
      inputs.push(input.table);
      for (const name of names) await note(ctx, name, 100);
      return input.table;
    };
    let round = 0;
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: `round-${++round}` });
    await world.begin();
    await world.invoke(short);
    expect(await states()).toEqual([
      [null, 'pending', 1],
      ['import', 'waiting', 1],
    ]);
    expect((await world.executions())[1]).toMatchObject({ lease_token: null, claimed_at: null });
    await world.finish(short);
    expect(world.done).toEqual(names);
    expect(await world.executions()).toMatchObject([
      { state: 'completed', output: 'round-1' },
      { state: 'completed', step_name: 'import', input: { table: 'round-1' } },
    ]);
    expect(new Set(inputs)).toEqual(new Set(['round-1']));
  });

  it('without a step of its own is cut off like one', async () => {
    inner = ({ signal }) => takeMs(60_000, undefined, { signal });
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    expect(await world.invoke(short)).toMatchObject([{ failureCode: 'step_too_long' }]);
    expect(await world.executions()).toMatchObject([
      { failure_step: 'import' },
      {
        step_name: 'import',
        state: 'failed',
        failure_code: 'parent_ended',
        failure_message: 'the run around it ended as failed before it did',
      },
    ]);
  });
});

describe('a nested run that sleeps', () => {
  it('puts the whole run to sleep, and both go on', async () => {
    inner = async (ctx) => {
      await note(ctx, 'before');
      await ctx.sleep('hour', { hours: 1 });
      return note(ctx, 'after');
    };
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.invoke();
    expect(await states()).toEqual([
      [null, 'waiting', 1],
      ['import', 'waiting', 1],
    ]);
    world.clock.advance(3_600);
    await world.dispatch();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(world.done).toEqual(['before', 'after']);
    expect(await states()).toEqual([
      [null, 'completed', 1],
      ['import', 'completed', 1],
    ]);
  });

  it('does not take another along that is busy with code of its own', async () => {
    inner = async (ctx, { table }) => {
      if (table === 'resting') await ctx.sleep('hour', { hours: 1 });
      else await takeMs(150);
      return table;
    };
    world.behaviour = (ctx) => Promise.all(['resting', 'busy'].map((table) => ctx.run(table, importTable, { table })));
    await world.begin();
    await world.invoke();
    expect(new Set(await states())).toEqual(
      new Set([
        [null, 'waiting', 1],
        ['resting', 'waiting', 1],
        ['busy', 'completed', 1],
      ]),
    );
  });
});

describe('a nested run that ends without waiting for its own steps', () => {
  it('begins no further one', async () => {
    let goOn = () => {};
    inner = (ctx) => {
      goOn = () => void note(ctx, 'late');
    };
    world.behaviour = async (ctx) => {
      await ctx.run('import', importTable, { table: 'x' });
      goOn();
      await note(ctx, 'after');
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect((await world.steps()).map(({ name }) => name)).toEqual(['import', 'after']);
    expect(world.done).toEqual(['after']);
  });

  it('leaves none running for ever, even if its beginning is recorded after the nested run has ended', async () => {
    const [asked, ended, recorded] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const database: Database = {
      ...world.database,
      async query<Row>(statement: Sql) {
        if (!statement.values.includes('import/late')) return world.database.query<Row>(statement);
        asked.resolve();
        await ended.promise;
        const rows = await world.database.query<Row>(statement);
        recorded.resolve();
        return rows;
      },
    };
    inner = async (ctx) => {
      void note(ctx, 'late');
      await asked.promise;
    };
    world.behaviour = async (ctx) => {
      await ctx.run('import', importTable, { table: 'x' });
      ended.resolve();
      await recorded.promise;
    };
    await world.begin();
    expect(await world.invoke({ database })).toMatchObject([{ state: 'completed' }]);
    expect(await world.steps()).toMatchObject([
      { name: 'import', state: 'completed' },
      { name: 'import/late', state: 'failed', failure_code: 'run_ended' },
    ]);
    expect(world.done).toEqual([]);
  });
});

describe('a nested run ends with the run around it', () => {
  const hang = async (ctx: WorkflowContext) => {
    await note(ctx, 'begun');
    await new Promise(() => {});
  };

  it('that was lost: in the transaction of the recovery, and never alone', async () => {
    inner = hang;
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    void world.invoke();
    await expect.poll(async () => (await world.steps())[1]?.state, { timeout: 5_000 }).toBe('completed');
    world.clock.advance(46);
    expect((await world.manage()).recovered).toMatchObject([{ failureCode: 'lease_lost' }]);
    expect(await world.executions()).toMatchObject([
      { state: 'failed', failure_code: 'lease_lost' },
      { state: 'failed', failure_code: 'parent_ended', running_ms: 46_000 },
    ]);
    expect(await world.steps()).toMatchObject([{ name: 'import', state: 'failed', failure_code: 'run_ended' }, { state: 'completed' }]);
  });

  it('that is cancelled, as cancelled', async () => {
    inner = async (ctx) => {
      await cancelExecution(world.context, String((await world.executions())[0]!.id));
      await takeMs(60_000, undefined, { signal: ctx.signal });
    };
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.invoke({ timings: { firstRenewalMs: 20, renewalMs: 20 } });
    expect(await states()).toEqual([
      [null, 'cancelled', 1],
      ['import', 'cancelled', 1],
    ]);
  });

  it('that is cancelled while both sleep', async () => {
    inner = (ctx) => ctx.sleep('hour', { hours: 1 });
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.invoke();
    await cancelExecution(world.context, String((await world.executions())[0]!.id));
    expect((await states()).map(([, state]) => state)).toEqual(['cancelled', 'cancelled']);
  });

  it('that did not await it', async () => {
    inner = hang;
    world.behaviour = async (ctx) => {
      void ctx.run('import', importTable, { table: 'x' });
      await expect.poll(async () => (await world.steps()).length, { timeout: 5_000 }).toBe(2);
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(await states()).toEqual([
      [null, 'completed', 1],
      ['import', 'failed', 1],
    ]);
  });

  it('even two levels down', async () => {
    inner = (ctx) => ctx.run('branch', workflowNamed('leaf', hang), {});
    world.behaviour = (ctx) => ctx.run('tree', importTable, { table: 'x' });
    await world.begin();
    void world.invoke();
    await expect.poll(async () => (await world.steps()).at(-1)?.state, { timeout: 5_000 }).toBe('completed');
    world.clock.advance(46);
    await world.manage();
    expect((await states()).map(([, state]) => state)).toEqual(['failed', 'failed', 'failed']);
  });

  it('and is not cancelled by itself', async () => {
    inner = (ctx) => ctx.sleep('hour', { hours: 1 });
    world.behaviour = (ctx) => ctx.run('import', importTable, { table: 'x' });
    await world.begin();
    await world.invoke();
    const [root, child] = await world.executions();
    await expect(cancelExecution(world.context, String(child!.id))).rejects.toMatchObject({
      code: 'nested_run',
      message: `execution '${child!.id}' runs inside of execution '${root!.id}' and under its lease: cancel that one`,
    });
  });
});
