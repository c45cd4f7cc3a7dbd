import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { keepHouse } from '../../functions/housekeeping/handler.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { repairDependents } from '../../shared/housekeeping/repair-dependents.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { createMetrics } from '../../shared/observability/metrics.ts';
import { checkInvariants } from '../support/check-invariants.ts';
import { useDatabase } from '../support/database.ts';
import { ago, inWorld, NOW, type World } from './world.ts';

const NAME = 'no_dependent_is_ahead_of_its_edges_and_forgotten';
const server = useDatabase();
let database: Database;
beforeAll(() => {
  database = openDatabase({ url: server.url, maxConnections: 4, clock: { now: () => NOW } });
});
afterAll(() => database.close());
beforeEach(() => server.pool.query('truncate waybill.manifest, waybill.manifest_group, waybill.work_queue, waybill.execution cascade'));
afterEach(() => {
  vi.restoreAllMocks();
});

const plant = <Result>(act: (world: World) => Promise<Result>) => inWorld(server.pool, act, 'commit');

/** A dependent whose parent has succeeded, and which nothing will look at. */
async function plantForgotten(world: World, columns = {}): Promise<number> {
  return world.dependent([{ id: await world.manifest({ success_count: 1, last_successful_run: ago(600) }) }], columns);
}
const dueAt = async (id: number) =>
  (await server.pool.query('select next_due_at from waybill.manifest where id = $1', [id])).rows[0].next_due_at;

async function keepHouseAndListen() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const report = await keepHouse({
    database,
    log: createLogger('housekeeping', write),
    metrics: createMetrics(write),
    retentionDays: 90,
    hasTime: () => true,
  });
  return { report, lines };
}

describe('housekeeping', () => {
  it('logs every violation as an error, counts them in a metric, and repairs what can be repaired', async () => {
    const id = await plant((world) => plantForgotten(world, { external_id: 'forgotten' }));
    await plant((world) => world.manifest({ external_id: 'retired', retiring_at: ago(600) }));
    const { report, lines } = await keepHouseAndListen();
    expect(lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({ name: NAME, subject: 'manifest forgotten', detail: expect.any(String) }),
      expect.objectContaining({ name: 'a_retiring_manifest_is_deleted_with_its_last_run', subject: 'manifest retired' }),
    ]);
    expect(lines.find((line) => '_aws' in line)).toMatchObject({ InvariantViolations: 2 });
    expect(report).toMatchObject({ violationCount: 2, repairedCount: 1 });
    expect(await dueAt(id)).toEqual(NOW);
  });

  it('says that all is well with a count of zero', async () => {
    const { lines } = await keepHouseAndListen();
    expect(lines.find((line) => '_aws' in line)).toMatchObject({ InvariantViolations: 0 });
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('has reported a forgotten dependent before it repairs it', async () => {
    const id = await plant((world) => plantForgotten(world));
    const log = createLogger('housekeeping', () => {});
    const killed = new Error('killed');
    vi.spyOn(log, 'error').mockImplementation(() => {
      throw killed;
    });
    await expect(keepHouse({ database, log, metrics: createMetrics(() => {}), retentionDays: 90, hasTime: () => true })).rejects.toBe(
      killed,
    );
    expect(await dueAt(id)).toBeNull();
  });
});

describe('the repair of dependents', () => {
  it('makes every forgotten dependent due, however many there are, and leaves the others alone', async () => {
    const forgotten = await plant(async (world) => {
      const parent = { id: await world.manifest({ success_count: 1, last_successful_run: ago(600) }) };
      await world.dependent([{ ...parent, consumed: 1 }]);
      await world.entry({ manifest_id: await world.dependent([parent]) });
      const ids: number[] = [];
      while (ids.length < 250) ids.push(await world.dependent([parent]));
      return ids;
    });
    expect(await repairDependents(database)).toEqual(forgotten);
    expect(await repairDependents(database)).toEqual([]);
    const { rows } = await server.pool.query('select count(*)::int as count from waybill.manifest where next_due_at is not null');
    expect(rows).toEqual([{ count: 250 }]);
  });

  it('does not wait for a dependent that somebody decides about', async () => {
    const [locked, free] = await plant(async (world) => [await plantForgotten(world), await plantForgotten(world)]);
    await database.transaction(async (db) => {
      await db.query(sql`select from waybill.manifest where id = ${locked} for no key update`);
      expect(await repairDependents(database)).toEqual([free]);
    });
    expect(await repairDependents(database)).toEqual([locked]);
  });
});

describe('a check in a test', () => {
  it('throws with a list that can be read', async () => {
    await plant((world) => world.manifest({ external_id: 'retired', retiring_at: ago(600) }));
    await checkInvariants(database);
    await expect(checkInvariants(database, { kinds: ['eventually'] })).rejects.toThrow(
      /^1 violations of invariants:\n {2}a_retiring_manifest_is_deleted_with_its_last_run: manifest retired: retiring since .* without an unfinished execution$/,
    );
  });
});
