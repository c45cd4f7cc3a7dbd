import { describe, expect, it } from 'vitest';
import { cron, every } from '../../shared/index.ts';
import { appOf, startsOf, useKits } from './use-kit.ts';

const createKit = useKits();
const fail = () => {
  throw new Error('no');
};

describe('the clock', () => {
  it('stands at startAt until it is moved, and nothing runs by itself', async () => {
    const kit = await createKit(
      appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))),
      { startAt: '2026-05-01T12:00:00+02:00' },
    );
    expect(kit.now).toEqual(new Date('2026-05-01T10:00:00Z'));
    expect(await kit.runs()).toEqual([]);
  });

  it('is the same on every day when no startAt is given', async () => {
    const kit = await createKit(appOf(() => {}));
    expect(kit.now).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it('stands still while what is due is drained', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
    await kit.drain();
    await kit.drain();
    expect(await startsOf(kit, 'hourly')).toEqual(['2026-01-01T00:00:00.000Z']);
    expect(kit.now).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it('stops at every instant on the way, and at the target', async () => {
    const seen: string[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) => {
          scheduler.schedule(work, 'hourly', {}, every.hours(1));
          scheduler.schedule(work, 'daily', {}, cron('30 1 * * *', { timeZone: 'UTC' }));
        },
        ({ execution, occurrenceAt }) => void seen.push(`${execution.manifest} ${occurrenceAt?.toISOString().slice(11, 16)}`),
      ),
    );
    await kit.advanceTo('2026-01-01T02:00:00Z');
    expect(seen).toEqual(['hourly 00:00', 'hourly 01:00', 'daily 01:30', 'hourly 02:00']);
    expect(kit.now).toEqual(new Date('2026-01-01T02:00:00Z'));
    await kit.advanceBy({ minutes: 59, seconds: 59, milliseconds: 999 });
    expect(seen).toHaveLength(4);
  });

  it('is moved by one at a time, whoever calls first', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
    await Promise.all([kit.advanceBy({ hours: 1 }), kit.advanceBy({ hours: 1 }), kit.drain()]);
    expect(kit.now).toEqual(new Date('2026-01-01T02:00:00Z'));
    expect(await startsOf(kit, 'hourly')).toHaveLength(3);
  });

  it.each([
    ['an instant without an offset', '2026-01-01T01:00:00', "target cannot be '2026-01-01T01:00:00'"],
    ['an invalid date', new Date('tomorrow'), "target cannot be 'Invalid Date'"],
    ['an earlier instant', '2025-12-31T23:59:59Z', 'cannot be moved back from 2026-01-01T00:00:00.000Z to 2025-12-31T23:59:59.000Z'],
  ])('is not moved to %s', async (_, target, message) => {
    const kit = await createKit(appOf(() => {}));
    await expect(kit.advanceTo(target)).rejects.toThrow(message);
    expect(kit.now).toEqual(new Date('2026-01-01T00:00:00Z'));
  });

  it.each([[{}], [{ hours: -1 }], [{ weeks: 1 } as object], [{ hours: Number.NaN }]])('is not moved by %o', async (duration) => {
    const kit = await createKit(appOf(() => {}));
    await expect(kit.advanceBy(duration)).rejects.toThrow('give at least one of days, hours, minutes, seconds, milliseconds');
  });
});

describe('schedules', () => {
  it('a daily job in Europe/London runs once per local date, over both changes of the clocks', async () => {
    const kit = await createKit(
      appOf((scheduler, work) => scheduler.schedule(work, 'daily', {}, cron('30 1 * * *', { timeZone: 'Europe/London' }))),
      { startAt: '2026-03-27T12:00:00Z' },
    );
    await kit.advanceTo('2026-03-31T12:00:00Z');
    // On the 29th there is no half past one: the first instant after the gap is two o'clock.
    expect(await startsOf(kit, 'daily')).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-29T01:00:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
    ]);
    await kit.disable('daily');
    await kit.advanceTo('2026-10-24T12:00:00Z');
    await kit.enable('daily');
    await kit.advanceTo('2026-10-27T12:00:00Z');
    // On the 25th there are two of them: the first counts.
    expect((await startsOf(kit, 'daily')).slice(4)).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
      '2026-10-27T01:30:00.000Z',
    ]);
  });

  it('a once runs at its instant, once', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.scheduleOnce(work, 'migration', {}, '2026-01-01T03:00:00Z')));
    await kit.advanceTo('2026-01-01T02:59:59.999Z');
    expect(await kit.runs()).toEqual([]);
    await kit.advanceBy({ days: 365 });
    expect(await startsOf(kit, 'migration')).toEqual(['2026-01-01T03:00:00.000Z']);
    expect(await kit.manifest('migration')).toMatchObject({ nextDueAt: null, successCount: 1 });
  });

  it('a chain runs to its end at the instant at which its first link succeeds', async () => {
    const order: (string | undefined)[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) =>
          scheduler.schedule(work, 'extract', {}, every.hours(1)).include(work, 'validate', {}).thenInclude(work, 'load', {}),
        ({ execution }) => void order.push(execution.manifest),
      ),
    );
    await kit.advanceBy({ hours: 1 });
    expect(order).toEqual(['extract', 'validate', 'load', 'extract', 'validate', 'load']);
    expect(await startsOf(kit, 'load')).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z']);
  });

  it('a dormant dependent runs when a run of its parent activates it, and with the input that it was given', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) =>
          scheduler.scheduleOnce(work, 'parent', {}, '2026-01-01T00:00:00Z').include(work, 'dormant', {}, { dormant: true }),
        async ({ execution, dormant }, input) => {
          if (execution.manifest === 'parent') await dormant.activate('dormant', { table: 'orders' });
          return input;
        },
      ),
    );
    await kit.drain();
    expect(await kit.runs()).toMatchObject([
      { manifest: 'parent', state: 'completed' },
      { manifest: 'dormant', origin: 'activation', output: { table: 'orders' } },
    ]);
  });

  it('the steps of a plan run group by group, in whatever pools they name', async () => {
    const kit = await createKit(
      appOf((scheduler, work) =>
        scheduler
          .plan('nightly', cron('0 2 * * *', { timeZone: 'UTC' }))
          .step('import', work, {})
          .parallel((group) => group.step('sync', work, {}, { pool: 'heavy' }).step('export', work, {})),
      ),
    );
    await kit.advanceBy({ hours: 2 });
    const [plan] = await kit.runs();
    expect(plan).toMatchObject({ manifest: 'nightly', state: 'completed', startedAt: '2026-01-01T02:00:00.000Z' });
    expect((await kit.run(plan!.id)).children).toMatchObject([
      { stepName: 'import', groupIndex: 0, state: 'completed' },
      { stepName: 'sync', groupIndex: 1, state: 'completed' },
      { stepName: 'export', groupIndex: 1, state: 'completed' },
    ]);
  });

  it('runs go to whatever pools the app names', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'large', {}, every.hours(1), { pool: 'heavy' })));
    await kit.drain();
    expect(await kit.runs()).toMatchObject([{ manifest: 'large', state: 'completed' }]);
  });

  it('a month of an hourly job has 745 occurrences, first and last included, and takes this process milliseconds for each', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
    const before = process.cpuUsage();
    await kit.advanceTo('2026-02-01T00:00:00Z');
    const { user, system } = process.cpuUsage(before);
    expect(await kit.runs({ state: 'completed' })).toHaveLength(745);
    // Of its own time, since others may be busy on the same machine.
    expect((user + system) / 1000 / 745).toBeLessThan(40);
  }, 120_000);
});

describe('waiting', () => {
  it('a failed run is tried again exactly after its backoff', async () => {
    const kit = await createKit(
      appOf((scheduler, work) => {
        const backoff = { initialSeconds: 10, factor: 3, jitter: 0 };
        scheduler.scheduleOnce(work, 'flaky', {}, '2026-01-01T00:00:00Z', { maxAttempts: 4, backoff });
      }, fail),
    );
    await kit.advanceBy({ minutes: 3 });
    expect(await startsOf(kit, 'flaky')).toEqual([
      '2026-01-01T00:00:00.000Z',
      '2026-01-01T00:00:10.000Z',
      '2026-01-01T00:00:40.000Z',
      '2026-01-01T00:02:10.000Z',
    ]);
  });

  it('a backoff with jitter ends at an instant of its own, and is waited for', async () => {
    const kit = await createKit(
      appOf((scheduler, work) => {
        scheduler.scheduleOnce(work, 'flaky', {}, '2026-01-01T00:00:00Z', { maxAttempts: 2, backoff: { initialSeconds: 10, jitter: 1 } });
      }, fail),
    );
    await kit.drain();
    const [retry] = await kit.queue({ manifest: 'flaky' });
    await kit.advanceBy({ minutes: 1 });
    const [, second] = await kit.runs({ manifest: 'flaky' });
    expect(Date.parse(second!.startedAt!) - Date.parse(retry!.availableAt)).toBeOneOf([0, 1]);
  });

  it('a run that sleeps goes on at its instant, without any of its steps being repeated', async () => {
    const done: string[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.scheduleOnce(work, 'patient', {}, '2026-01-01T00:00:00Z'),
        async (ctx) => {
          await ctx.step('before', () => void done.push('before'));
          await ctx.sleep('rest', { hours: 6 });
          await ctx.step('after', () => void done.push('after'));
        },
      ),
    );
    await kit.advanceBy({ hours: 5 });
    expect(done).toEqual(['before']);
    expect(await kit.runs()).toMatchObject([{ state: 'waiting' }]);
    await kit.advanceBy({ hours: 5 });
    expect(done).toEqual(['before', 'after']);
    expect(await kit.runs()).toMatchObject([{ state: 'completed', finishedAt: '2026-01-01T06:00:00.000Z' }]);
  });

  it('a tick that finds its last run asleep is skipped as an overlap', async () => {
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1)),
        (ctx) => ctx.sleep('long', { minutes: 90 }),
      ),
    );
    await kit.advanceBy({ hours: 2 });
    expect(await startsOf(kit, 'hourly')).toEqual(['2026-01-01T00:00:00.000Z', '2026-01-01T02:00:00.000Z']);
    expect((await kit.manifest('hourly')).lastSkip).toEqual({ reason: 'overlap', at: '2026-01-01T01:00:00.000Z', count: 1 });
  });
});
