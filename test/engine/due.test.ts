import { describe, expect, it } from 'vitest';
import { readNow } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { managerRound } from '../../shared/manager/cycle.ts';
import { cancelEntry } from '../../shared/operations/cancel-entry.ts';
import { acknowledgeDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { disableManifest, enableManifest } from '../../shared/operations/switch-manifest.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { cronAt, everyMinute, fail, following, minuteAfterEnd, onceAt, START, useWorld } from './use-world.ts';

const world = useWorld();
const { at } = world;
const job = 'job';

describe('the first occurrence', () => {
  it('a cron manifest that is registered at one of its instants waits for the next one', async () => {
    await world.sync([{ externalId: job, schedule: cronAt('0 * * * *') }]);
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    world.clock.set(at('01:00:00'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00'), state: 'completed' }]);
  });

  it('an interval manifest runs at once', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: new Date(START) }]);
  });

  it('a once runs at its instant and not before', async () => {
    await world.sync([{ externalId: job, schedule: onceAt('00:10:00') }]);
    world.clock.set(at('00:09:59'));
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    world.clock.set(at('00:10:00'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('00:10:00') }]);
  });
});

describe('an interval', () => {
  it('keeps its fixed rate from the occurrence, however late it was looked at', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await world.drain();
    world.clock.set(at('00:01:37'));
    await world.drain();
    expect((await world.runs(job)).at(-1)).toMatchObject({ occurrence_at: at('00:01:00') });
    expect(await world.manifest(job)).toMatchObject({ next_occurrence_at: at('00:02:00'), next_due_at: at('00:02:00') });
  });

  it('that is anchored at completion counts from the end of its run', async () => {
    await world.sync([{ externalId: job, schedule: minuteAfterEnd }]);
    world.behaviour = () => world.clock.advance(25);
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('00:01:25'), skip_count: 0 });
    world.clock.set(at('00:01:25'));
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at }) => occurrence_at)).toEqual([new Date(START), at('00:01:25')]);
  });

  it('that is anchored at completion goes on after an attempt that failed, and after its dead letter', async () => {
    await world.sync([{ externalId: job, schedule: minuteAfterEnd, maxAttempts: 1 }]);
    world.behaviour = fail;
    await world.drain();
    world.clock.advance(3_600);
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ next_due_at: null, last_skip_reason: 'dead_letter' });
    await acknowledgeDeadLetter(world.context, (await world.awaiting(job)).id);
    world.behaviour = () => 'better';
    await world.drain();
    expect((await world.runs(job)).map(({ state }) => state)).toEqual(['failed', 'completed']);
  });

  it('that is anchored at completion goes on after its queued entry was cancelled', async () => {
    await world.sync([{ externalId: job, schedule: minuteAfterEnd }]);
    await world.manage();
    world.clock.advance(10);
    await cancelEntry(world.context, String((await world.entries(job))[0]!.id));
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('00:01:10'), skip_count: 0 });
    world.clock.set(at('00:01:10'));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('00:01:10'), state: 'completed' }]);
  });

  it('that is anchored at completion is not moved by the cancellation of something else', async () => {
    await world.sync([{ externalId: job, schedule: minuteAfterEnd }]);
    await world.drain();
    const { queueEntryId } = await trigger(world.context, { externalId: job, delaySeconds: 300 });
    world.clock.advance(30);
    await cancelEntry(world.context, queueEntryId);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('00:01:00') });
  });

  it('that is anchored at completion goes on after an occurrence that was taken already', async () => {
    await world.sync([{ externalId: job, schedule: everyMinute }]);
    await world.drain();
    await world.sync([{ externalId: job, schedule: minuteAfterEnd }]);
    await world.drain();
    expect(await world.manifest(job)).toMatchObject({ last_skip_reason: 'occurrence_taken', next_due_at: at('00:01:00') });
  });
});

describe('switching a timed manifest on', () => {
  it.each([
    ['cron', cronAt('0 * * * *'), '06:00:00'],
    ['interval', { type: 'interval', intervalSeconds: 3_600, anchor: 'occurrence' } as const, '06:00:00'],
  ])('computes its %s from now: time spent disabled is never a misfire', async (_, schedule, next) => {
    await world.sync([{ externalId: job, schedule, misfire: { policy: 'fire_all', limit: 10 } }]);
    await world.drain();
    const before = await world.runs(job);
    await disableManifest(world.context, job);
    world.clock.set(at('05:30:00'));
    await world.drain();
    await enableManifest(world.context, job);
    await world.drain();
    expect(await world.runs(job)).toEqual(before);
    expect(await world.manifest(job)).toMatchObject({ next_occurrence_at: at(next), skip_count: 0 });
  });

  it('twice changes nothing the second time', async () => {
    await world.sync([{ externalId: job, schedule: cronAt('0 * * * *') }]);
    world.clock.set(at('01:00:00'));
    await enableManifest(world.context, job);
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00') }]);
  });
});

describe('a look', () => {
  it('that comes before the occurrence fires nothing and comes again at it', async () => {
    await world.sync([{ externalId: job, schedule: cronAt('0 * * * *') }]);
    await world.database.query(sql`update waybill.manifest set next_due_at = waybill.now()`);
    await world.drain();
    expect(await world.runs(job)).toEqual([]);
    expect(await world.manifest(job)).toMatchObject({ next_due_at: at('01:00:00'), skip_count: 0 });
  });

  it('leaves nothing due behind', async () => {
    await world.sync([
      { externalId: job, schedule: everyMinute },
      { externalId: 'grouped', schedule: everyMinute, group: 'off' },
      { externalId: 'later', schedule: onceAt('00:00:00') },
      { externalId: 'child', schedule: following(job) },
    ]);
    await world.database.query(sql`update waybill.manifest_group set is_enabled = false where name = 'off'`);
    await world.manage();
    expect(await world.rows(sql`select external_id from waybill.manifest where next_due_at <= waybill.now()`)).toEqual([]);
  });
});

describe('jitter', () => {
  const jittered = { externalId: job, schedule: cronAt('0 * * * *'), jitterSeconds: 300 };
  const dueAt = async (externalId: string, time: string) => {
    const rows = await world.rows<{ due: Date }>(
      sql`select ${at(time)}::timestamptz + waybill.jitter(id, ${at(time)}::timestamptz, jitter_seconds) as due from waybill.manifest where external_id = ${externalId}`,
    );
    return rows[0]!.due;
  };

  it('never makes a manifest early, and runs it within its bound', async () => {
    await world.sync(Array.from({ length: 40 }, (_, index) => ({ ...jittered, externalId: `job-${index}` })));
    const due = await world.rows<{ next_due_at: Date }>(sql`select next_due_at from waybill.manifest`);
    const delays = due.map(({ next_due_at }) => (next_due_at.getTime() - at('01:00:00').getTime()) / 1000);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThanOrEqual(300);
    expect(new Set(delays).size).toBeGreaterThan(20);
  });

  it('lateness is measured from the occurrence plus its jitter', async () => {
    await world.sync([{ ...jittered, misfire: { policy: 'skip' } }]);
    const due = (await world.manifest(job)).next_due_at!;
    expect(due.getTime()).toBeGreaterThan(at('01:00:00').getTime());
    world.clock.set(new Date(due.getTime() + 60_000));
    await world.drain();
    expect(await world.runs(job)).toMatchObject([{ occurrence_at: at('01:00:00') }]);
  });

  it('a missed occurrence whose jitter is not over yet waits for it', async () => {
    await world.sync([{ ...jittered, misfire: { policy: 'fire_all', limit: 10 } }]);
    const due = await dueAt(job, '04:00:00');
    expect(due.getTime()).toBeGreaterThan(at('04:00:00').getTime());
    world.clock.set(at('04:00:00'));
    await world.drain();
    expect((await world.runs(job)).map(({ occurrence_at }) => occurrence_at)).toEqual(
      ['01', '02', '03'].map((hour) => at(`${hour}:00:00`)),
    );
    expect(await world.manifest(job)).toMatchObject({ next_occurrence_at: at('04:00:00'), next_due_at: due });
    world.clock.set(due);
    await world.drain();
    expect((await world.runs(job)).at(-1)).toMatchObject({ occurrence_at: at('04:00:00') });
  });

  it.each(['fire_once', 'skip', 'fire_all'] as const)('what waits for its jitter is not gone with what is late: %s', async (policy) => {
    const ids = Array.from({ length: 20 }, (_, index) => `job-${index}`);
    const misfire = { policy, limit: policy === 'fire_all' ? 5 : undefined };
    await world.sync(ids.map((externalId) => ({ externalId, schedule: cronAt('0 * * * *'), jitterSeconds: 1_800, misfire })));
    world.clock.set(at('02:05:00'));
    await world.drain();
    const waiting = await world.rows<{ external_id: string; next_due_at: Date }>(
      sql`select external_id, next_due_at from waybill.manifest where next_occurrence_at = ${at('02:00:00')}::timestamptz order by next_due_at`,
    );
    expect(waiting.length).toBeGreaterThan(5);
    for (const { external_id, next_due_at } of waiting) {
      world.clock.set(next_due_at);
      await world.drain();
      expect((await world.runs(external_id)).at(-1)).toMatchObject({ occurrence_at: at('02:00:00'), state: 'completed' });
    }
    const lost = await world.rows(sql`select external_id from waybill.manifest m
      where waybill.jitter(m.id, ${at('02:00:00')}::timestamptz, 1800) > interval '5 minutes' and external_id <> all(${waiting.map((row) => row.external_id)}::text[])`);
    expect(lost).toEqual([]);
  });

  it('longer than the interval: each occurrence runs, or is skipped with the reason', async () => {
    await world.sync([{ ...jittered, schedule: everyMinute, jitterSeconds: 120 }]);
    for (;;) {
      const { next_due_at } = await world.manifest(job);
      if (next_due_at! >= at('00:30:00')) break;
      world.clock.set(next_due_at!);
      await world.drain();
    }
    const { next_occurrence_at, skip_count } = await world.manifest(job);
    const passed = (next_occurrence_at!.getTime() - at('00:00:00').getTime()) / 60_000;
    const runs = await world.runs(job);
    expect(passed).toBeGreaterThanOrEqual(28);
    expect(runs.length + skip_count).toBe(passed);
    // Two occurrences whose jitter ends in the wrong order meet, which happens to one in eight.
    expect(runs.length).toBeGreaterThanOrEqual(20);
  });
});

describe('twenty managers at once', () => {
  const declared = [
    ...Array.from({ length: 30 }, (_, index) => ({ externalId: `job-${index}`, schedule: everyMinute })),
    ...Array.from({ length: 10 }, (_, index) => ({ externalId: `child-${index}`, schedule: following(`job-${index}`) })),
    ...Array.from({ length: 10 }, (_, index) => ({ externalId: `once-${index}`, schedule: onceAt('00:00:00') })),
    ...Array.from({ length: 5 }, (_, index) => ({
      externalId: `all-${index}`,
      schedule: everyMinute,
      misfire: { policy: 'fire_all' as const, limit: 3 },
    })),
  ];
  const manageAlone = () => world.database.transaction(async (db) => managerRound({}, { db, now: await readNow(db), batchSize: 20 }));

  it.each([
    ['under leadership', world.manage],
    ['without the leadership lock', manageAlone],
  ])('%s queue each occurrence and each success once', async (_, manage) => {
    await world.sync(declared);
    world.clock.advance(190);
    const everybody = () => Promise.all(Array.from({ length: 20 }, () => manage()));
    await everybody();
    await everybody();
    await world.dispatch();
    await world.deliver();
    await everybody();
    await world.drain();
    const counts = await world.rows<{ kind: string; count: number; manifests: number }>(sql`
      select split_part(m.external_id, '-', 1) as kind, count(*) as count, count(distinct m.id) as manifests
        from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id group by 1 order by 1`);
    expect(counts).toEqual([
      { kind: 'all', count: 15, manifests: 5 },
      { kind: 'child', count: 10, manifests: 10 },
      { kind: 'job', count: 30, manifests: 30 },
      { kind: 'once', count: 10, manifests: 10 },
    ]);
  });
});
