import { expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { Scheduler } from '../../shared/define/scheduler.ts';
import { cron, every, type WorkflowContext, workflow } from '../../shared/index.ts';

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
  type Input = Parameters<typeof schedule>[2];
  const schedule = new Scheduler().schedule<typeof load.input, { rowCount: number }>;
  expectTypeOf<Input>().toEqualTypeOf<{ table: string; batch?: number | undefined; at: string }>();
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
