import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { findStartedDeployment, startDeployment } from '../../shared/define/sync-deployment.ts';
import { beforeCommit, settlesOrWaits } from '../engine/interleave.ts';
import { clear, useEngine } from '../support/engine.ts';
import { type Declared, define, deploy } from './use-sync.ts';

const engine = useEngine();
const first: Declared[] = [{ externalId: 'job', priority: 1 }];
const second: Declared[] = [{ externalId: 'job', priority: 2 }, { externalId: 'other' }];

beforeEach(() => clear(engine));

const begin = (owner = 'test') => startDeployment(engine.database, owner, 'hash');
const manifests = () =>
  engine.rows<{ external_id: string; priority: number }>(
    sql`select external_id, priority from waybill.manifest where deleted_at is null order by external_id`,
  );
const isFirst = [{ external_id: 'job', priority: 1 }];
const isSecond = [
  { external_id: 'job', priority: 2 },
  { external_id: 'other', priority: 0 },
];

describe('of two deployments that overlap', () => {
  it('the one that began later wins although it arrives first', async () => {
    const earlier = await begin();
    const later = await begin();
    await deploy(engine, second, { version: later });
    const before = await engine.rows(sql`select *, xmin::text from waybill.deployment order by version`);
    expect(await deploy(engine, first, { version: earlier })).toMatchObject({
      outcome: 'superseded',
      deploymentVersion: earlier,
      created: [],
      changed: [],
      pruned: [],
    });
    expect(await manifests()).toEqual(isSecond);
    expect(await engine.rows(sql`select *, xmin::text from waybill.deployment order by version`)).toEqual(before);
  });

  it('the one that began later wins when it arrives last, too', async () => {
    const earlier = await begin();
    const later = await begin();
    await deploy(engine, first, { version: earlier });
    expect(await deploy(engine, second, { version: later })).toMatchObject({ outcome: 'applied' });
    expect(await manifests()).toEqual(isSecond);
  });

  it.each([
    ['the earlier one is about to commit when the later one comes', 'earlier'],
    ['the later one is about to commit when the earlier one comes', 'later'],
  ])('the later one wins: %s', async (_, holder) => {
    const versions = { earlier: await begin(), later: await begin() };
    const run = (which: string, database: Database) =>
      deploy({ database }, which === 'later' ? second : first, { version: versions[which as keyof typeof versions] });
    let other: ReturnType<typeof run> | undefined;
    await run(
      holder,
      beforeCommit(engine.database, async () => {
        other = run(holder === 'later' ? 'earlier' : 'later', engine.database);
        expect(await settlesOrWaits(engine.database, other)).toBe('waits');
      }),
    );
    expect(await other).toMatchObject({ outcome: holder === 'later' ? 'superseded' : 'applied' });
    expect(await manifests()).toEqual(isSecond);
  });

  it('one that began later and was never applied supersedes nothing', async () => {
    const earlier = await begin();
    await begin();
    expect(await deploy(engine, first, { version: earlier })).toMatchObject({ outcome: 'applied', created: ['job'] });
  });

  it('one of another owner supersedes nothing', async () => {
    const version = await begin();
    await deploy(engine, [{ externalId: 'theirs' }], { owner: 'other', workflows: [] });
    expect(await deploy(engine, first, { version })).toMatchObject({ outcome: 'applied' });
  });
});

describe('a rollback', () => {
  it('is a deployment that began later: it brings back what was before, and takes back what it does not state', async () => {
    await deploy(engine, [{ externalId: 'job' }, { externalId: 'old' }]);
    const changed = {
      externalId: 'job',
      isEnabled: false,
      maxAttempts: 9,
      exclusions: [{ type: 'dates' as const, dates: ['2026-12-25'] }],
    };
    await deploy(engine, [changed, { externalId: 'other' }]);
    expect(await deploy(engine, [{ externalId: 'job' }, { externalId: 'old' }])).toMatchObject({
      created: ['old'],
      changed: ['job'],
      changedFields: { job: ['exclude', 'isEnabled', 'maxAttempts'] },
      pruned: ['other'],
    });
    expect(
      await engine.rows(sql`
        select is_enabled, max_attempts, exclusions, next_due_at is not null as is_due from waybill.manifest where external_id = 'job'`),
    ).toEqual([{ is_enabled: true, max_attempts: 3, exclusions: [], is_due: true }]);
  });

  it('wins over the late arrival of what it rolls back', async () => {
    const apply = (manifests: Declared[], hash: string, version?: number) =>
      syncApp(engine.database, define(manifests), hash, { deploymentVersion: version });
    const started = async (hash: string) => findStartedDeployment(engine.database, 'test', hash);
    await startDeployment(engine.database, 'test', 'first');
    await apply(first, 'first', await started('first'));
    // The deployment begins, its sync is given up, and the rollback begins and ends before that one comes to life again.
    await startDeployment(engine.database, 'test', 'second');
    await startDeployment(engine.database, 'test', 'first');
    await apply(first, 'first', await started('first'));
    expect(await apply(second, 'second', await started('second'))).toMatchObject({ outcome: 'superseded' });
    expect(await manifests()).toEqual(isFirst);
    // Deployed anew, it has begun anew.
    await startDeployment(engine.database, 'test', 'second');
    expect(await apply(second, 'second', await started('second'))).toMatchObject({ outcome: 'applied' });
    expect(await manifests()).toEqual(isSecond);
  });
});

it('a definition that no deployment began with is known to nobody', async () => {
  await startDeployment(engine.database, 'other', 'hash');
  expect(await findStartedDeployment(engine.database, 'test', 'hash')).toBeUndefined();
});

it('an app cannot be called like the owner of what is declared at run time', async () => {
  await expect(deploy(engine, first, { owner: 'runtime' })).rejects.toMatchObject({
    code: 'reserved_name',
    message: "app name 'runtime' is taken by what is declared at run time: choose another",
  });
  expect(await engine.rows(sql`select from waybill.deployment`)).toEqual([]);
});
