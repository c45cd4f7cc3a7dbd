import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { cron, every, exclude, type Scheduler } from '../../shared/index.ts';
import { clear, useEngine } from '../support/engine.ts';
import { copy, define, plain } from './use-mistakes.ts';

const engine = useEngine();
beforeEach(() => clear(engine));

const deploy = async (manifests: (scheduler: Scheduler) => void) => syncApp(engine.database, await define(manifests), randomUUID());

const present = () =>
  engine.rows<{ external_id: string; schedule_type: string; group: string; parents: string[] }>(sql`
    select m.external_id, m.schedule_type, g.name as group,
           array(select p.external_id from waybill.manifest_dependency d join waybill.manifest p on p.id = d.parent_id
                  where d.child_id = m.id order by p.external_id) as parents
      from waybill.manifest m join waybill.manifest_group g on g.id = m.group_id where m.deleted_at is null order by m.id`);

it('what the builder declares is what the database holds, of every kind and with every option', async () => {
  await deploy((scheduler) => {
    const policies = {
      priority: 5,
      maxAttempts: 6,
      backoff: { initialSeconds: 1, factor: 3, maxSeconds: 60, jitter: 0.5 },
      timeoutSeconds: 900,
      isEnabled: false,
      expectWithinSeconds: 120,
    };
    const lateness = { misfire: { fireAll: 7 }, misfireThresholdSeconds: 30, jitterSeconds: 8, exclude: [exclude.weekdays('sunday')] };
    scheduler
      .schedule(plain, 'root', {}, cron('0 2 * * *'), { group: { name: 'g', maxActiveJobs: 4 }, ...policies, ...lateness })
      .include(plain, 'below', {}, { ...policies, mode: 'any', dependsOn: ['root', 'once'] })
      .thenInclude(plain, 'sleeper', {}, { ...policies, dormant: true })
      .scheduleOnce(plain, 'once', {}, '2026-12-24T18:00:00Z', policies)
      .scheduleMany(copy, 'delta', [{ id: 'a', input: { table: 'a' } }], every.seconds(10), { ...policies, ...lateness })
      .includeMany(copy, 'bronze', [{ id: 'a', input: { table: 'a' }, dependsOn: 'delta-a' }], { ...policies, dormant: true });
  });
  expect(await present()).toEqual(
    expect.arrayContaining([
      { external_id: 'root', schedule_type: 'cron', group: 'g', parents: [] },
      { external_id: 'below', schedule_type: 'dependent', group: 'below', parents: ['once', 'root'] },
      { external_id: 'sleeper', schedule_type: 'dormant_dependent', group: 'sleeper', parents: ['below'] },
      { external_id: 'once', schedule_type: 'once', group: 'once', parents: [] },
      { external_id: 'delta-a', schedule_type: 'interval', group: 'delta', parents: [] },
      { external_id: 'bronze-a', schedule_type: 'dormant_dependent', group: 'bronze', parents: ['delta-a'] },
    ]),
  );
  const policyRows = await engine.rows(sql`
    select distinct priority, max_attempts, backoff_initial_seconds, backoff_factor, backoff_max_seconds, backoff_jitter, timeout_seconds, is_enabled,
           expect_within_seconds
      from waybill.manifest`);
  expect(policyRows).toEqual([
    {
      priority: 5,
      max_attempts: 6,
      backoff_initial_seconds: 1,
      backoff_factor: 3,
      backoff_max_seconds: 60,
      backoff_jitter: 0.5,
      timeout_seconds: 900,
      is_enabled: false,
      expect_within_seconds: 120,
    },
  ]);
  const lateRows = await engine.rows(sql`
    select distinct misfire_policy, misfire_limit, misfire_threshold_seconds, jitter_seconds, exclusions from waybill.manifest
     where schedule_type in ('cron', 'interval')`);
  expect(lateRows).toEqual([
    {
      misfire_policy: 'fire_all',
      misfire_limit: 7,
      misfire_threshold_seconds: 30,
      jitter_seconds: 8,
      exclusions: [{ type: 'weekdays', weekdays: ['sunday'] }],
    },
  ]);
});

it('an item that is gone from its batch is pruned, and the rest of the app stays', async () => {
  const declare = (tables: string[]) => (scheduler: Scheduler) => {
    scheduler.schedule(plain, 'alone', {}, every.hours(1)).scheduleMany(
      copy,
      'delta',
      tables.map((table) => ({ id: table, input: { table } })),
      every.hours(1),
    );
  };
  await deploy(declare(['a', 'b', 'c']));
  await deploy(declare(['c']));
  expect((await present()).map(({ external_id }) => external_id).sort()).toEqual(['alone', 'delta-c']);
  await deploy(declare([]));
  expect((await present()).map(({ external_id }) => external_id)).toEqual(['alone']);
});
