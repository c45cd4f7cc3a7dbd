import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { type Claimant, claimants, claimInPairs, type Pair } from './claimants.ts';
import { type RunRow, useWorld } from './use-world.ts';

/** After whoever asked for a run of the manifest as it is, and of no occurrence. */
const afterPlainRun: Record<Claimant, string> = {
  tick: 'manifest (overlap)',
  dependency: 'manifest',
  activation: 'manifest',
  retry: 'first run!, first run#2, manifest',
  trigger: 'manifest',
  'trigger with input': 'manifest (refused)',
  'delayed trigger': 'manifest',
  'delayed trigger with input': 'manifest, input 2@02:14',
  'dead-letter retry': 'first run!, first run#2, manifest',
  fire_all: 'manifest, manifest@00:11, manifest@00:12, manifest@00:13',
  backfill: 'manifest, backfill@01-02, backfill@01-12',
};

/** After whoever brings a run back that has failed. */
const afterRetry: Record<Claimant, string> = {
  tick: 'first run!, first run#2 (overlap)',
  dependency: 'first run!, first run#2, manifest',
  activation: 'first run!, first run#2, activation',
  retry: 'first run!, first run#2!, first run#3',
  trigger: 'first run!, first run#2',
  'trigger with input': 'first run!, first run#2, input 2',
  'delayed trigger': 'first run!, first run#2',
  'delayed trigger with input': 'first run!, first run#2, input 2@02:14',
  'dead-letter retry': 'first run!, first run#2!, first run#3',
  fire_all: 'first run!, first run#2, manifest@00:11, manifest@00:12, manifest@00:13',
  backfill: 'first run!, first run#2, backfill@01-02, backfill@01-12',
};

/**
 * What runs after one claimant of a manifest's place came, then another, and everything was drained: each run by where its input is from, `@` its occurrence, `#` its
 * attempt from the second on, `!` if it failed. Then `overlap` if an occurrence was skipped for it, and `refused` if the second was told so.
 * A claim by tick, dependency or fire_all redefines the manifest, so every pair can happen.
 */
const expected: Record<Claimant, Record<Claimant, string>> = {
  tick: {
    tick: 'manifest@00:04 (overlap)',
    dependency: 'manifest@00:04',
    activation: 'manifest@00:04',
    retry: 'first run!, first run#2 (overlap)',
    trigger: 'manifest@00:04',
    'trigger with input': 'manifest@00:04 (refused)',
    'delayed trigger': 'manifest@00:04',
    'delayed trigger with input': 'manifest@00:04, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2 (overlap)',
    fire_all: 'manifest@00:04, manifest@00:11, manifest@00:12, manifest@00:13',
    backfill: 'manifest@00:04, backfill@01-02, backfill@01-12',
  },
  dependency: afterPlainRun,
  activation: {
    tick: 'activation (overlap)',
    dependency: 'activation',
    activation: 'activation',
    retry: 'first run!, first run#2, activation',
    trigger: 'activation',
    'trigger with input': 'activation (refused)',
    'delayed trigger': 'activation',
    'delayed trigger with input': 'activation, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, activation',
    fire_all: 'activation, manifest@00:11, manifest@00:12, manifest@00:13',
    backfill: 'activation, backfill@01-02, backfill@01-12',
  },
  retry: afterRetry,
  trigger: afterPlainRun,
  'trigger with input': {
    tick: 'input 1 (overlap)',
    dependency: 'input 1',
    activation: 'input 1',
    retry: 'first run!, first run#2, input 1',
    trigger: 'input 1',
    'trigger with input': 'input 1 (refused)',
    'delayed trigger': 'input 1',
    'delayed trigger with input': 'input 1, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, input 1',
    fire_all: 'input 1, manifest@00:11, manifest@00:12, manifest@00:13',
    backfill: 'input 1, backfill@01-02, backfill@01-12',
  },
  'delayed trigger': {
    tick: 'manifest@00:14',
    dependency: 'manifest',
    activation: 'manifest',
    retry: 'first run!, first run#2, manifest',
    trigger: 'manifest',
    'trigger with input': 'manifest (refused)',
    'delayed trigger': 'manifest',
    'delayed trigger with input': 'manifest, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, manifest',
    fire_all: 'manifest@00:11, manifest@00:12, manifest@00:13, manifest',
    backfill: 'backfill@01-02, backfill@01-12, manifest',
  },
  'delayed trigger with input': {
    tick: 'manifest@00:14, input 1@02:04',
    dependency: 'manifest, input 1@02:04',
    activation: 'activation, input 1@02:04',
    retry: 'first run!, first run#2, input 1@02:04',
    trigger: 'manifest, input 1@02:04',
    'trigger with input': 'input 2, input 1@02:04',
    'delayed trigger': 'input 1@02:04, manifest',
    'delayed trigger with input': 'input 1@02:04, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, input 1@02:04',
    fire_all: 'manifest@00:11, manifest@00:12, manifest@00:13, input 1@02:04',
    backfill: 'backfill@01-02, backfill@01-12, input 1@02:04',
  },
  'dead-letter retry': afterRetry,
  fire_all: {
    tick: 'manifest@00:14, manifest@00:01, manifest@00:02, manifest@00:03',
    dependency: 'manifest, manifest@00:01, manifest@00:02, manifest@00:03',
    activation: 'activation, manifest@00:01, manifest@00:02, manifest@00:03',
    retry: 'first run!, first run#2, manifest@00:01, manifest@00:02, manifest@00:03',
    trigger: 'manifest, manifest@00:01, manifest@00:02, manifest@00:03',
    'trigger with input': 'input 2, manifest@00:01, manifest@00:02, manifest@00:03',
    'delayed trigger': 'manifest@00:01, manifest@00:02, manifest@00:03, manifest',
    'delayed trigger with input': 'manifest@00:01, manifest@00:02, manifest@00:03, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, manifest@00:01, manifest@00:02, manifest@00:03',
    fire_all: 'manifest@00:01, manifest@00:02, manifest@00:03, manifest@00:11, manifest@00:12, manifest@00:13',
    backfill: 'backfill@01-02, backfill@01-12, manifest@00:01, manifest@00:02, manifest@00:03',
  },
  backfill: {
    tick: 'manifest@00:14, backfill@01-01, backfill@01-11',
    dependency: 'manifest, backfill@01-01, backfill@01-11',
    activation: 'activation, backfill@01-01, backfill@01-11',
    retry: 'first run!, first run#2, backfill@01-01, backfill@01-11',
    trigger: 'manifest, backfill@01-01, backfill@01-11',
    'trigger with input': 'input 2, backfill@01-01, backfill@01-11',
    'delayed trigger': 'backfill@01-01, backfill@01-11, manifest',
    'delayed trigger with input': 'backfill@01-01, backfill@01-11, input 2@02:14',
    'dead-letter retry': 'first run!, first run#2, backfill@01-01, backfill@01-11',
    fire_all: 'backfill@01-01, backfill@01-11, manifest@00:11, manifest@00:12, manifest@00:13',
    backfill: 'backfill@01-01, backfill@01-02, backfill@01-11, backfill@01-12',
  },
};

const world = useWorld({ isShared: true });
const pairs: Pair[] = claimants.flatMap((first) =>
  claimants.map((second) => ({ first, second, externalId: `${first}.then.${second}`.replaceAll(/[^a-z_.]/g, '-') })),
);
const told = new Map<string, string>();

function tellRun({ input, occurrence_at, attempt, state }: RunRow): string {
  const at = occurrence_at?.toISOString() ?? '';
  const occurrence = at.startsWith('2026-03-02') ? at.slice(11, 16) : at.slice(5, 10);
  return `${(input as { from: string }).from}${at && `@${occurrence}`}${attempt > 1 ? `#${attempt}` : ''}${state === 'failed' ? '!' : ''}`;
}

beforeAll(async () => {
  const { refused } = await claimInPairs(world, pairs);
  await world.drain();
  for (const { externalId } of pairs) {
    const runs = (await world.runs(externalId)).map(tellRun).join(', ');
    const { last_skip_reason } = await world.manifest(externalId);
    told.set(externalId, `${runs}${last_skip_reason === 'overlap' ? ' (overlap)' : ''}${refused.has(externalId) ? ' (refused)' : ''}`);
  }
}, 120_000);

describe.each(claimants)('after a %s', (first) => {
  it.each(claimants.map((second) => [second, expected[first][second]]))('a %s: %s', (second, runs) => {
    expect(told.get(pairs.find((pair) => pair.first === first && pair.second === second)!.externalId)).toBe(runs);
  });
});

it('when all claims were made and drained, nothing is queued, live, refused silently or forgotten', async () => {
  world.clock.advance(121);
  await world.drain();
  expect(await world.rows(sql`select from waybill.work_queue where status = 'queued'`)).toEqual([]);
  expect(await world.rows(sql`select from waybill.execution where finished_at is null`)).toEqual([]);
  await world.database.transaction((db) => checkInvariants(db, { kinds: ['always', 'eventually'] }));
});
