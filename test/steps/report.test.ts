import { setTimeout as takeMs } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { WorkflowContext } from '../../shared/model/workflow.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { workflowNamed } from '../support/engine.ts';
import { useSteps } from './use-steps.ts';

const world = useSteps();
const short = { remainingMs: 900, timings: { graceMs: 30 } };
const run = async () => (await world.executions()).filter(({ parent_id }) => parent_id === null).at(-1)!;
const kept = () =>
  world.rows<{ execution_id: number; level: string; message: string; fields: unknown; logged_at: Date }>(
    sql`select * from waybill.execution_log order by id`,
  );
const messages = async () => (await kept()).map(({ message }) => message);
const counts = async () => {
  const { state, item_count, failed_item_count, warning_count } = await run();
  return { state, item_count, failed_item_count, warning_count };
};
/** Steps that take long enough for several invocations. */
async function fill(ctx: WorkflowContext): Promise<void> {
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await ctx.step(name, () => takeMs(100));
}

describe('progress', () => {
  it('is written with the outcome, however short the run was', async () => {
    world.behaviour = (ctx) => {
      ctx.progress(1, 10);
      ctx.progress(7.6, 10, 'nearly');
    };
    await world.begin();
    await world.invoke();
    expect(await run()).toMatchObject({ progress_done: 8, progress_total: 10, progress_message: 'nearly' });
  });

  it('is kept through a continuation and a sleep, until something else is said', async () => {
    world.behaviour = async (ctx) => {
      const isFirst = !(await run()).running_ms;
      if (isFirst) ctx.progress(3, 10, 'third');
      await fill(ctx);
      await ctx.sleep('rest', 60);
      ctx.progress(9);
    };
    await world.begin();
    await world.invoke(short);
    expect(await run()).toMatchObject({ state: 'pending', progress_done: 3, progress_total: 10, progress_message: 'third' });
    await world.finish(short);
    expect(await run()).toMatchObject({ state: 'completed', progress_done: 9, progress_total: 10, progress_message: 'third' });
  });

  it('is seen while the run is running, with its next renewal', async () => {
    world.behaviour = async (ctx) => {
      ctx.progress(2, 5);
      await expect.poll(async () => (await run()).progress_done, { timeout: 5_000 }).toBe(2);
    };
    await world.begin();
    expect(await world.invoke({ timings: { firstRenewalMs: 20, renewalMs: 20 } })).toMatchObject([{ state: 'completed' }]);
  });

  it.each([
    ['not a number', Number.NaN],
    ['without end', Number.POSITIVE_INFINITY],
  ])('that is %s is left out and fails nothing', async (_, done) => {
    world.behaviour = (ctx) => ctx.progress(done, 5, 'odd\u0000');
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed' }]);
    expect(await run()).toMatchObject({ progress_done: null, progress_total: 5, progress_message: 'odd\uFFFD' });
  });
});

describe('items', () => {
  it('of which none failed leave a completed run', async () => {
    world.behaviour = (ctx) => {
      for (const key of ['x', 'y']) ctx.item(key);
    };
    await world.begin();
    await world.invoke();
    expect(await counts()).toEqual({ state: 'completed', item_count: 2, failed_item_count: 0, warning_count: 0 });
  });

  it('of which some failed complete the run with warnings, which is a success, and each is named in its log', async () => {
    world.behaviour = (ctx) => {
      ctx.item('x');
      ctx.item('y', new Error('too large'));
      ctx.item('z', 'not found');
      return 'output';
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([{ state: 'completed_with_warnings', next: null }]);
    expect(await counts()).toEqual({ state: 'completed_with_warnings', item_count: 3, failed_item_count: 2, warning_count: 0 });
    expect(await run()).toMatchObject({ output: 'output' });
    expect(await messages()).toEqual(["item 'y' failed: too large", "item 'z' failed: not found"]);
    expect(await world.manifest('job')).toMatchObject({ success_count: 1 });
  });

  it('that all failed fail the run, which is tried again if they were told outside of steps', async () => {
    world.behaviour = (ctx) => {
      for (const key of ['x', 'y']) ctx.item(key, new Error('no'));
    };
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      {
        state: 'failed',
        failureCode: 'all_items_failed',
        failureMessage: 'all of its 2 items failed: the log of the run names each',
        next: 'retry',
      },
    ]);
    expect(await counts()).toEqual({ state: 'failed', item_count: 2, failed_item_count: 2, warning_count: 0 });
  });

  it('that all failed in steps fail the run for good: another attempt would not run them again', async () => {
    world.behaviour = (ctx) => ctx.step('load', () => ctx.item('x', new Error('no')));
    await world.begin();
    expect(await world.invoke()).toMatchObject([
      { failureCode: 'all_items_failed', failureMessage: expect.stringContaining('its only item failed'), next: 'dead_letter' },
    ]);
  });

  it('of a step are recorded with it, and counted once by a later attempt that does not run it again', async () => {
    world.behaviour = async (ctx) => {
      await ctx.step('load', async () => {
        ctx.item('x');
        await takeMs(1);
        ctx.item('y', new Error('no'));
        ctx.warn('odd');
      });
      ctx.item('outside');
      if (ctx.attempt === 1) throw new Error('not yet');
    };
    await world.begin();
    await world.finish();
    expect(await world.steps()).toMatchObject([{ item_count: 2, failed_item_count: 1, warning_count: 1 }]);
    expect(await counts()).toEqual({ state: 'completed_with_warnings', item_count: 3, failed_item_count: 1, warning_count: 1 });
    expect((await world.executions())[0]).toMatchObject({ state: 'failed', item_count: 3 });
  });

  it('count nothing twice in a continuation: neither those of steps nor those outside', async () => {
    world.behaviour = async (ctx) => {
      ctx.item('outside');
      for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
        await ctx.step(name, async () => {
          await takeMs(100);
          ctx.item(name, name === 'c' ? new Error('no') : undefined);
        });
    };
    await world.begin();
    expect(await world.finish(short)).toBeGreaterThan(1);
    expect(await counts()).toEqual({ state: 'completed_with_warnings', item_count: 9, failed_item_count: 1, warning_count: 0 });
  });

  it('of a try that failed do not count', async () => {
    let tries = 0;
    world.behaviour = (ctx) =>
      ctx.step(
        'flaky',
        () => {
          ctx.item('x', ++tries === 1 ? new Error('no') : undefined);
          if (tries === 1) throw new Error('not yet');
        },
        { retries: 1 },
      );
    await world.begin();
    await world.invoke();
    expect(await counts()).toEqual({ state: 'completed', item_count: 1, failed_item_count: 0, warning_count: 0 });
  });

  it('of a nested run count for it and for the run around it, once, whichever attempt told them', async () => {
    const nested = workflowNamed('nested', async (ctx) => {
      ctx.item('body', new Error('no'));
      await ctx.step('inner', () => ctx.item('inner'));
    });
    world.behaviour = async (ctx) => {
      await ctx.run('import', nested, {});
      ctx.item('outside');
      if (ctx.attempt === 1) throw new Error('not yet');
    };
    await world.begin();
    await world.finish();
    expect(await counts()).toEqual({ state: 'completed_with_warnings', item_count: 3, failed_item_count: 1, warning_count: 0 });
    expect((await world.executions()).find(({ step_name }) => step_name === 'import')).toMatchObject({
      state: 'completed_with_warnings',
      item_count: 2,
      failed_item_count: 1,
    });
    expect(await world.steps()).toMatchObject([
      { name: 'import', item_count: 1, failed_item_count: 1 },
      { name: 'import/inner', item_count: 1 },
    ]);
  });

  it('that all failed fail the nested run that told them', async () => {
    const nested = workflowNamed('nested', (ctx) => ctx.item('x', new Error('no')));
    world.behaviour = (ctx) => ctx.run('import', nested, {}).catch(({ code }) => code);
    await world.begin();
    await world.invoke();
    expect(await world.executions()).toMatchObject([
      { state: 'completed', output: 'all_items_failed', item_count: 0 },
      { step_name: 'import', state: 'failed', failure_code: 'all_items_failed', item_count: 1 },
    ]);
  });
});

describe('a warning', () => {
  it('completes the run with warnings and is kept in its log', async () => {
    world.behaviour = (ctx) => ctx.warn('the file was empty');
    await world.begin();
    await world.invoke();
    expect(await counts()).toEqual({ state: 'completed_with_warnings', item_count: 0, failed_item_count: 0, warning_count: 1 });
    expect(await kept()).toMatchObject([{ level: 'warn', message: 'the file was empty' }]);
    expect(world.lines.filter(({ message }) => message === 'the file was empty')).toHaveLength(1);
  });
});

describe('what a run logs', () => {
  it('goes to the log stream and is kept beside the run, in order, with its level, fields and time', async () => {
    world.behaviour = (ctx) => {
      ctx.log.debug('one');
      ctx.log.info('two', { rows: 3, at: new Date(0) });
      ctx.log.error('three', { error: new Error('no') });
    };
    await world.begin();
    await world.invoke();
    const { id } = await run();
    const lines = await kept();
    expect(lines).toMatchObject([
      { execution_id: id, run_id: id, level: 'debug', message: 'one', fields: null },
      { level: 'info', message: 'two', fields: { rows: 3, at: '1970-01-01T00:00:00.000Z' } },
      { level: 'error', message: 'three', fields: { error: { name: 'Error', message: 'no' } } },
    ]);
    for (const { logged_at } of lines) expect(Math.abs(logged_at.getTime() - world.clock.now().getTime())).toBeLessThan(5_000);
    expect(world.lines.map(({ message }) => message)).toEqual(expect.arrayContaining(['two', 'three']));
    expect(await readExecution(world.database, String(id))).toMatchObject({
      logs: [{ level: 'debug', message: 'one' }, { level: 'info', message: 'two', fields: { rows: 3 } }, { level: 'error' }],
    });
  });

  it('can be read while the run is running', async () => {
    world.behaviour = async (ctx) => {
      ctx.log.info('said early');
      await expect.poll(messages, { timeout: 5_000 }).toEqual(['said early']);
      ctx.log.info('said before a step');
      await ctx.step('work', () => {});
      await expect.poll(messages, { timeout: 500 }).toHaveLength(2);
    };
    await world.begin();
    expect(await world.invoke({ timings: { logFlushMs: 50 } })).toMatchObject([{ state: 'completed' }]);
  });

  it('is kept of a run that is handed back or fails, too', async () => {
    world.behaviour = async (ctx) => {
      ctx.log.info('again');
      await fill(ctx);
      throw new Error('no');
    };
    await world.begin();
    await world.invoke(short);
    expect(await messages()).toEqual(['again']);
    expect(await world.invoke(short)).toMatchObject([{ state: 'failed' }]);
    expect(await messages()).toEqual(['again', 'again']);
  });

  it('is kept up to a thousand lines of a run, and then one says that there are more', async () => {
    world.behaviour = async (ctx) => {
      for (let line = 1; line <= 700; line++) ctx.log.info(`line ${line} of attempt ${ctx.attempt}`);
      if (ctx.attempt === 1) throw new Error('not yet');
      await ctx.step('flush', () => {});
      ctx.log.info('much later');
    };
    await world.begin();
    await world.finish();
    const lines = await messages();
    expect(lines).toHaveLength(1_001);
    expect(lines.slice(998)).toEqual([
      'line 299 of attempt 2',
      'line 300 of attempt 2',
      'this run has said more than 1000 lines: the rest is in the log stream only',
    ]);
    expect(world.lines.some(({ message }) => message === 'much later')).toBe(true);
  });

  it('is cut where it is too long, and keeps no secret', async () => {
    process.env.LOG_TOKEN = 'hidden-token-value';
    world.behaviour = ({ log }) => {
      log.info('ä'.repeat(10_000));
      log.info('with hidden-token-value', { deep: ['hidden-token-value'], large: 'x'.repeat(9_000) });
      log.info('deep', { deep: [{ token: 'hidden-token-value' }] });
      log.info('nul \u0000');
    };
    await world.begin();
    await world.invoke();
    delete process.env.LOG_TOKEN;
    const lines = await kept();
    expect(Buffer.byteLength(lines[0]!.message)).toBeLessThanOrEqual(8_192);
    expect(lines[0]!.message).toMatch(/^ä+…$/);
    expect(lines[1]!.fields).toEqual({ leftOut: expect.stringContaining('bytes of JSON, at most 8192 are allowed') });
    expect(lines[2]!.fields).toEqual({ deep: [{ token: '[redacted]' }] });
    expect(lines[3]!.message).toBe('nul \uFFFD');
    expect(JSON.stringify(lines)).not.toContain('hidden-token-value');
  });

  it('is lost without failing the run when it cannot be written', async () => {
    await world.rows(sql`alter table waybill.execution_log rename to unreachable`);
    world.behaviour = ({ log }) => log.info('said in vain');
    await world.begin();
    const ended = await world.invoke();
    await world.rows(sql`alter table waybill.unreachable rename to execution_log`);
    expect(ended).toMatchObject([{ state: 'completed' }]);
    expect(world.lines.find(({ level }) => level === 'warn')).toMatchObject({
      message: 'lines of a run could not be kept beside it, they are in this log only',
      lost: 1,
    });
  });

  it('by a nested run is kept under its own execution', async () => {
    const nested = workflowNamed('nested', ({ log }) => log.info('inside'));
    world.behaviour = async (ctx) => {
      ctx.log.info('outside');
      await ctx.run('import', nested, {});
    };
    await world.begin();
    await world.invoke();
    const [root, child] = await world.executions();
    expect((await kept()).map(({ execution_id, message }) => [execution_id, message])).toEqual([
      [root!.id, 'outside'],
      [child!.id, 'inside'],
    ]);
  });
});
