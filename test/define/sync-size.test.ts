import { beforeEach, describe, expect, it } from 'vitest';
import type { Database, Db } from '../../shared/db/database.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import { planGroups } from '../../shared/define/sync-groups.ts';
import { findChangedManifests } from '../../shared/define/sync-manifests.ts';
import { toRows } from '../../shared/define/sync-rows.ts';
import { clear, useEngine } from '../support/engine.ts';
import { define, deploy } from './use-sync.ts';

const engine = useEngine();
const MANY = 5_000;
const nightly = { type: 'cron' as const, expression: '0 2 * * *', timeZone: 'UTC' };

beforeEach(() => clear(engine));

const some = (count: number, version = 1) =>
  Array.from({ length: count }, (_, index) => ({ externalId: `job-${index}`, schedule: nightly, priority: 1, input: { version } }));

/** Counts what is sent, as round trips are what a large app must not multiply. */
function counting(database: Database): Database & { statementCount: number } {
  const counted =
    (query: Database['query']) =>
    <Answer>(statement: Sql) => {
      counter.statementCount++;
      return query<Answer>(statement);
    };
  const counter = {
    statementCount: 0,
    query: counted(database.query),
    transaction: <Result>(work: Parameters<typeof database.transaction<Result>>[0]) =>
      database.transaction<Result>((db) => work({ query: counted(db.query) })),
    close: database.close,
  };
  return counter;
}

it('5,000 manifests take as many statements as three', { timeout: 120_000 }, async () => {
  const counts = async (count: number) => {
    const database = counting(engine.database);
    const statements: number[] = [];
    for (const manifests of [some(count), some(count), some(count, 2), some(1, 2)]) {
      database.statementCount = 0;
      await deploy({ database }, manifests);
      statements.push(database.statementCount);
    }
    return statements;
  };
  const few = await counts(3);
  await clear(engine);
  expect(await counts(MANY)).toEqual(few);
  expect(Math.max(...few)).toBeLessThanOrEqual(20);
  expect(await engine.rows(sql`select from waybill.manifest where deleted_at is null`)).toHaveLength(1);
});

describe('5,000 manifests are compared one by one, not each with every other,', () => {
  /** How many pairs of rows a statement looked at in vain. */
  async function countVainPairs(ask: (db: Db) => Promise<unknown>): Promise<number> {
    let statement: Sql | undefined;
    await ask({
      query: async (asked) => {
        statement = asked;
        return [];
      },
    });
    const [row] = await engine.database.transaction(async (db) => {
      // Between a hash and a loop over everything it is a toss-up for a planner that expects next to nothing; here it always loses.
      await db.query(sql`select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`);
      return db.query<unknown>({ text: `explain (analyze, format json) ${statement!.text}`, values: statement!.values });
    });
    const removed = JSON.stringify(row).matchAll(/"Rows Removed by Join Filter":(\d+)/g);
    return [...removed].reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const { manifests, groups } = define(some(MANY));

  it.each([['by a planner that has not seen them yet'], ['by a planner that knows them']])('%s', async (planner) => {
    await deploy(engine, some(MANY));
    if (planner.includes('knows')) await engine.database.query(sql`analyze waybill.manifest, waybill.manifest_group`);
    const rows = toRows(manifests, new Date());
    expect(await countVainPairs((db) => findChangedManifests(db, { owner: 'test', rows }))).toBeLessThan(10 * MANY);
    expect(await countVainPairs((db) => planGroups(db, { owner: 'test', groups, isComplete: true }))).toBeLessThan(10 * MANY);
  });
});
