import { expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { Scheduler } from '../../shared/define/scheduler.ts';
import { cron, every, exclude, handle, type InputOf, type ManifestHandle, type WorkflowContext, workflow } from '../../shared/index.ts';

// Most of this file is checked by the compiler: an @ts-expect-error above a line that compiles fails `npm run typecheck`.

const load = workflow({
  name: 'load',
  input: z.object({ table: z.string(), batch: z.number().default(100), at: z.iso.datetime().transform((text) => new Date(text)) }),
  run(ctx, input) {
    expectTypeOf(ctx).toEqualTypeOf<WorkflowContext>();
    expectTypeOf(input).toEqualTypeOf<{ table: string; batch: number; at: Date }>();
    return { rowCount: 1 };
  },
});

it('a schedule takes what the schema takes, and run gets what the schema makes of it', () => {
  expectTypeOf<InputOf<typeof load>>().toEqualTypeOf<{ table: string; batch?: number | undefined; at: string }>();
  expectTypeOf<Awaited<ReturnType<typeof load.run>>>().toEqualTypeOf<{ rowCount: number }>();
});

it('an input of the wrong type does not compile', () => {
  const scheduler = new Scheduler();
  scheduler.schedule(load, 'right', { table: 'orders', at: '2026-01-01T00:00:00Z' }, every.hours(1));
  // @ts-expect-error a required field is missing
  scheduler.schedule(load, 'missing', { at: '2026-01-01T00:00:00Z' }, every.hours(1));
  // @ts-expect-error a field has the wrong type
  scheduler.schedule(load, 'wrong', { table: 7, at: '2026-01-01T00:00:00Z' }, every.hours(1));
  // @ts-expect-error what the schema makes is not what it takes
  scheduler.schedule(load, 'parsed', { table: 'orders', at: new Date() }, every.hours(1));
  // @ts-expect-error a field that the schema does not know
  scheduler.schedule(load, 'surplus', { table: 'orders', at: '2026-01-01T00:00:00Z', tabel: 'x' }, every.hours(1));
});

it('an option or schedule that does not exist does not compile', () => {
  const scheduler = new Scheduler();
  const input = { table: 'orders', at: '2026-01-01T00:00:00Z' };
  // @ts-expect-error a misspelt option
  scheduler.schedule(load, 'option', input, every.hours(1), { prioirty: 1 });
  // @ts-expect-error a policy that does not exist
  scheduler.schedule(load, 'policy', input, every.hours(1), { misfire: 'fire_twice' });
  // @ts-expect-error a schedule is made by every or cron
  scheduler.schedule(load, 'schedule', input, '0 2 * * *');
  // @ts-expect-error a zone is an option
  cron('0 2 * * *', 'Europe/London');
});

it('an option that its kind does not have does not compile', () => {
  const scheduler = new Scheduler();
  const input = { table: 'orders', at: '2026-01-01T00:00:00Z' };
  scheduler.schedule(load, 'timed', input, every.hours(1), {
    misfire: { fireAll: 3 },
    jitterSeconds: 5,
    exclude: [exclude.weekdays('monday')],
  });
  scheduler.include(load, 'dependent', input, { dependsOn: ['timed', handle(load, 'other')], mode: 'any', dormant: false });
  scheduler.include(load, 'dormant', input, { dormant: true });
  scheduler.include(load, 'either', input, { dormant: Date.now() > 0 });
  // @ts-expect-error a dependent is never late
  scheduler.include(load, 'misfire', input, { misfire: 'skip' });
  // @ts-expect-error a dependent has no occurrence to spread
  scheduler.thenInclude(load, 'jitter', input, { jitterSeconds: 5 });
  // @ts-expect-error a one-time run keeps its instant
  scheduler.scheduleOnce(load, 'once', input, '2026-01-01T00:00:00Z', { misfire: 'skip' });
  // @ts-expect-error a timed manifest has no parents
  scheduler.schedule(load, 'mode', input, every.hours(1), { mode: 'any' });
  // @ts-expect-error any parent may activate a dormant one
  scheduler.include(load, 'dormant-mode', input, { dormant: true, mode: 'any' });
  // @ts-expect-error what runs at one instant is declared by scheduleOnce
  scheduler.schedule(load, 'at', input, { type: 'once', runAt: '2026-01-01T00:00:00Z' });
  // @ts-expect-error a weekday that does not exist
  exclude.weekdays('caturday');
});

it('an item of the wrong type does not compile', () => {
  const scheduler = new Scheduler();
  const input = { table: 'orders', at: '2026-01-01T00:00:00Z' };
  scheduler.scheduleMany(load, 'right', [{ id: 'a', input, priority: 3 }], every.hours(1));
  scheduler.includeMany(
    load,
    'some',
    [
      { id: 'a', input },
      { id: 'b', input, dependsOn: 'right-a' },
    ],
    { mode: 'any' },
  );
  scheduler.thenIncludeMany(load, 'named', [{ id: 'a', input, dependsOn: handle(load, 'right-a') }], { dormant: true });
  // @ts-expect-error an item has an id
  scheduler.scheduleMany(load, 'id', [{ input }], every.hours(1));
  // @ts-expect-error an item has the workflow's input
  scheduler.scheduleMany(load, 'input', [{ id: 'a', input: { table: 7, at: '' } }], every.hours(1));
  const made = ['a', 'b'].map((id) => ({ id, input: { tabel: id } }));
  // @ts-expect-error also when it is made from something else
  scheduler.scheduleMany(load, 'mapped', made, every.hours(1));
  // @ts-expect-error a timed item has no parents
  scheduler.scheduleMany(load, 'parents', [{ id: 'a', input, dependsOn: 'x' }], every.hours(1));
  // @ts-expect-error a misspelt option of an item
  scheduler.includeMany(load, 'option', [{ id: 'a', input, prioirty: 1 }]);
  // @ts-expect-error the items name their parents, not the batch
  scheduler.includeMany(load, 'batch', [{ id: 'a', input }], { dependsOn: 'x' });
  // @ts-expect-error an item of thenIncludeMany names its parents
  scheduler.thenIncludeMany(load, 'unnamed', [{ id: 'a', input }]);
});

it('a handle knows the input of its manifest', () => {
  const orders = handle(load, 'load-orders');
  expectTypeOf(orders).toEqualTypeOf<ManifestHandle<typeof load>>();
  const activate = <Of extends typeof load>(_: ManifestHandle<Of>, input: InputOf<Of>) => input;
  activate(orders, { table: 'orders', at: '2026-01-01T00:00:00Z' });
  // @ts-expect-error a required field is missing
  activate(orders, { table: 'orders' });
});
