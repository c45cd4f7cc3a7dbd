import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { type ManifestState, manifestStates } from '../../shared/db/queries/manifest-state.ts';
import { listManifests } from '../../shared/operations/list-manifests.ts';
import { readManifest } from '../../shared/operations/read-manifest.ts';
import { useDatabase } from '../support/database.ts';
import { lease, plantIn } from './plant.ts';

const server = useDatabase();
let database: Database;
beforeAll(() => {
  database = openDatabase({ url: server.url });
});
afterAll(() => database.close());

const interval = { schedule_type: 'interval', interval_seconds: 60, anchor: 'occurrence' };
const once = { schedule_type: 'once', run_at: new Date('2026-01-02T03:04:05Z') };
const finishedAt = new Date();

describe('the state of a manifest', () => {
  type Plant = ReturnType<typeof plantIn>;
  const situations: [ManifestState, string, (plant: Plant, externalId: string) => Promise<unknown>][] = [
    ['scheduled', 'an interval at rest', (plant, name) => plant.manifest(name, interval)],
    ['scheduled', 'a once that has not run', (plant, name) => plant.manifest(name, { ...once, next_occurrence_at: once.run_at })],
    ['done', 'a once that ran', (plant, name) => plant.manifest(name, once)],
    ['manual', 'no schedule', (plant, name) => plant.manifest(name)],
    [
      'waiting',
      'a dependent',
      async (plant, name) => {
        const id = await plant.manifest(name, { schedule_type: 'dependent', dependency_mode: 'all' });
        await plant.edge(id, await plant.manifest(`${name}-parent`));
      },
    ],
    [
      'orphaned',
      'a dependent without parents',
      (plant, name) => plant.manifest(name, { schedule_type: 'dependent', dependency_mode: 'all' }),
    ],
    [
      'orphaned',
      'a dormant dependent whose only parent was deleted',
      async (plant, name) => {
        const id = await plant.manifest(name, { schedule_type: 'dormant_dependent', dependency_mode: 'all' });
        await plant.edge(id, await plant.manifest(`${name}-parent`, { deleted_at: finishedAt }));
      },
    ],
    [
      'dormant',
      'a dormant dependent',
      async (plant, name) => {
        const id = await plant.manifest(name, { schedule_type: 'dormant_dependent', dependency_mode: 'all' });
        await plant.edge(id, await plant.manifest(`${name}-parent`));
      },
    ],
    ['disabled', 'a disabled interval', (plant, name) => plant.manifest(name, { ...interval, is_enabled: false })],
    ['quarantined', 'a quarantined one', (plant, name) => plant.manifest(name, { quarantine_error: 'bad row' })],
    ['queued', 'a queued entry', async (plant, name) => plant.entry({ manifest_id: await plant.manifest(name, interval) })],
    ['queued', 'an admitted execution', async (plant, name) => plant.execution({ manifest_id: await plant.manifest(name, interval) })],
    [
      'retrying',
      'a queued retry beside a fresh entry',
      async (plant, name) => {
        const manifestId = await plant.manifest(name, interval);
        await plant.entry({ manifest_id: manifestId });
        await plant.entry({ manifest_id: manifestId, lane: 'retry', attempt: 2, run_id: 1 });
      },
    ],
    [
      'running',
      'a run in progress with another queued behind it',
      async (plant, name) => {
        const manifestId = await plant.manifest(name, { ...interval, is_enabled: false });
        await plant.entry({ manifest_id: manifestId });
        await plant.execution({ manifest_id: manifestId, state: 'in_progress', ...lease });
      },
    ],
    ['running', 'a sleeping run', async (plant, name) => plant.execution({ manifest_id: await plant.manifest(name), state: 'waiting' })],
    [
      'dead_lettered',
      'a disabled one with an open dead letter',
      async (plant, name) => {
        const manifestId = await plant.manifest(name, { ...interval, is_enabled: false });
        const executionId = await plant.execution({
          manifest_id: manifestId,
          state: 'failed',
          failure_code: 'error',
          finished_at: finishedAt,
        });
        await plant.deadLetter({ manifest_id: manifestId, execution_id: executionId });
      },
    ],
    [
      'scheduled',
      'one whose dead letter was acknowledged',
      async (plant, name) => {
        const manifestId = await plant.manifest(name, interval);
        const executionId = await plant.execution({
          manifest_id: manifestId,
          state: 'failed',
          failure_code: 'error',
          finished_at: finishedAt,
        });
        await plant.deadLetter({ manifest_id: manifestId, execution_id: executionId, status: 'acknowledged', resolved_at: finishedAt });
      },
    ],
    [
      'retiring',
      'a retiring one in its last run',
      async (plant, name) => {
        const manifestId = await plant.manifest(name, { retiring_at: finishedAt });
        await plant.execution({ manifest_id: manifestId, state: 'in_progress', ...lease });
      },
    ],
  ];

  it.each(situations)('is %s for %s, and the filter by state finds it', async (state, _situation, make) => {
    const name = `state-${situations.findIndex((situation) => situation[2] === make)}`;
    await make(plantIn(server.pool), name);
    expect((await readManifest(database, name))?.state).toBe(state);
    const found = await listManifests(database, { state, limit: 200 });
    expect(found.items.map(({ externalId }) => externalId)).toContain(name);
    expect(found.items.filter((item) => item.state !== state)).toEqual([]);
  });

  it('has a situation above for each word of the vocabulary', () => {
    expect(new Set(situations.map(([state]) => state))).toEqual(new Set(manifestStates));
  });
});

describe('a manifest', () => {
  it('reads with its schedule, parents and last five runs, the newest first', async () => {
    const plant = plantIn(server.pool);
    const parentId = await plant.manifest('reads-parent');
    const deletedParentId = await plant.manifest('reads-deleted-parent', { deleted_at: finishedAt });
    const id = await plant.manifest('reads', {
      group: 'readers',
      input: { source: 'api' },
      pool: 'heavy',
      schedule_type: 'dependent',
      dependency_mode: 'any',
      timeout_seconds: 30,
      success_count: 4,
      last_successful_run: new Date('2026-01-01T00:00:00Z'),
      last_skip_reason: 'overlap',
      last_skip_at: new Date('2026-01-01T01:00:00Z'),
      skip_count: 2,
    });
    await plant.edge(id, parentId);
    await plant.edge(id, deletedParentId);
    const runs: string[] = [];
    for (let run = 0; run < 6; run++) {
      runs.push(
        await plant.execution({
          manifest_id: id,
          state: 'completed',
          started_at: new Date('2026-01-01T00:00:00.25Z'),
          finished_at: new Date('2026-01-01T00:00:01Z'),
        }),
      );
    }
    await plant.execution({ manifest_id: id, parent_id: runs[5], state: 'waiting' });

    expect(await readManifest(database, 'reads')).toEqual({
      externalId: 'reads',
      kind: 'job',
      steps: null,
      workflow: 'extract',
      input: { source: 'api' },
      group: 'readers',
      pool: 'heavy',
      schedule: {
        type: 'dependent',
        cron: null,
        timeZone: null,
        intervalSeconds: null,
        runAt: null,
        dependsOn: ['reads-parent'],
        mode: 'any',
      },
      isEnabled: true,
      priority: 0,
      maxAttempts: 3,
      timeoutSeconds: 30,
      owner: 'test',
      version: 1,
      nextDueAt: null,
      lastSuccessfulRun: '2026-01-01T00:00:00.000Z',
      successCount: 4,
      failedCount: 0,
      lastSkip: { reason: 'overlap', at: '2026-01-01T01:00:00.000Z', count: 2 },
      state: 'waiting',
      lastRuns: runs
        .toReversed()
        .slice(0, 5)
        .map((run) => ({ id: run, state: 'completed', startedAt: '2026-01-01T00:00:00.250Z', finishedAt: '2026-01-01T00:00:01.000Z' })),
    });
  });

  it('is not found once deleted, and the one declared anew under its name is another', async () => {
    const plant = plantIn(server.pool);
    const id = await plant.manifest('declared-twice');
    await server.pool.query('update waybill.manifest set deleted_at = now() where id = $1', [id]);
    expect(await readManifest(database, 'declared-twice')).toBeUndefined();
    await plant.manifest('declared-twice', { workflow_name: 'load' });
    expect(await readManifest(database, 'declared-twice')).toMatchObject({ workflow: 'load', lastRuns: [] });
    expect((await listManifests(database, { search: 'declared-twice', limit: 10 })).items).toHaveLength(1);
  });
});

it('a page of large inputs ends early and goes on where it ended', async () => {
  const plant = plantIn(server.pool);
  const input = { text: 'x'.repeat(1024 * 1024) };
  for (let index = 0; index < 7; index++) await plant.manifest(`large-${index}`, { input });
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await listManifests(database, { search: 'large-', limit: 50, cursor });
    expect(JSON.stringify(page).length).toBeLessThan(5 * 1024 * 1024);
    seen.push(...page.items.map(({ externalId }) => externalId));
    cursor = page.nextCursor ?? undefined;
  } while (cursor);
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6].map((index) => `large-${index}`));
});
