import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { createTestKit } from '../../local/testing/index.ts';
import { every } from '../../shared/index.ts';
import { appOf, useKits } from './use-kit.ts';

const createKit = useKits();
let threadCount = 0;
process.on('worker', () => threadCount++);

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const databasesOf = (url: string) => query(url, `select datname from pg_database where datname like 'kit\\_%' order by datname`);

describe('two kits', () => {
  it('do not see each other, neither their runs nor their clocks', async () => {
    const hourly = appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1)));
    const [one, other] = await Promise.all([createKit(hourly), createKit(hourly, { startAt: '2027-01-01T00:00:00Z' })]);
    await Promise.all([one.advanceBy({ hours: 2 }), other.advanceBy({ hours: 1 })]);
    expect(await one.runs()).toMatchObject([0, 1, 2].map((hour) => ({ startedAt: `2026-01-01T0${hour}:00:00.000Z` })));
    expect(await other.runs()).toMatchObject([0, 1].map((hour) => ({ startedAt: `2027-01-01T0${hour}:00:00.000Z` })));
  });

  it('may be of different apps of one name', async () => {
    const first = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'first', {}, every.hours(1))));
    const second = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'second', {}, every.hours(1))));
    await first.drain();
    await second.drain();
    expect(await first.runs()).toMatchObject([{ manifest: 'first' }]);
    expect(await second.runs()).toMatchObject([{ manifest: 'second' }]);
  });

  it('share one server, on which the second finds its database ready', async () => {
    const [one, other] = [await createKit(appOf(() => {})), await createKit(appOf(() => {}))];
    expect(new URL(one.databaseUrl).host).toBe(new URL(other.databaseUrl).host);
    expect(one.databaseUrl).not.toBe(other.databaseUrl);
  });
});

describe('a kit', () => {
  it('starts no thread for the leases of its runs', async () => {
    const kit = await createKit(appOf((scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1))));
    await kit.advanceBy({ hours: 1 });
    expect(await kit.runs()).toHaveLength(2);
    expect(threadCount).toBe(0);
  });

  it('runs what is due together in the order of admission, one after the other', async () => {
    const events: string[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) => {
          for (const [name, priority] of [
            ['low', 0],
            ['high', 20],
            ['middle', 10],
          ] as const)
            scheduler.schedule(work, name, {}, every.hours(1), { group: 'one', priority });
        },
        async ({ execution }) => {
          events.push(`${execution.manifest} begins`);
          await new Promise(setImmediate);
          events.push(`${execution.manifest} ends`);
        },
      ),
    );
    await kit.drain();
    expect(events).toEqual(['high begins', 'high ends', 'middle begins', 'middle ends', 'low begins', 'low ends']);
  });

  it('gives what its runs log to whoever asks for it', async () => {
    const lines: unknown[] = [];
    const kit = await createKit(
      appOf(
        (scheduler, work) => scheduler.schedule(work, 'hourly', {}, every.hours(1)),
        ({ log }) => log.info('hello', { table: 'orders' }),
      ),
      { log: (line) => lines.push(JSON.parse(line)) },
    );
    await kit.drain();
    expect(lines).toMatchObject([
      { level: 'info', message: 'hello', table: 'orders', manifest: 'hourly' },
      { message: 'run ended', state: 'completed' },
    ]);
  });

  it('that was closed has no database any more, and says so', async () => {
    const other = await createKit(appOf(() => {}));
    const kit = await createTestKit(appOf(() => {}));
    const name = new URL(kit.databaseUrl).pathname.slice(1);
    expect(await databasesOf(other.databaseUrl)).toContainEqual({ datname: name });
    await kit.close();
    await kit.close();
    expect(await databasesOf(other.databaseUrl)).not.toContainEqual({ datname: name });
    await expect(kit.drain()).rejects.toThrow('this test kit was closed: create another one');
    await expect(kit.runs()).rejects.toThrow('this test kit was closed: create another one');
  });

  it('is closed at the end of the block that it was made for', async () => {
    let outside: Awaited<ReturnType<typeof createTestKit>>;
    {
      await using kit = await createTestKit(appOf(() => {}));
      outside = kit;
      await kit.drain();
    }
    await expect(outside.drain()).rejects.toThrow('this test kit was closed');
  });
});

describe('an invariant that does not hold', () => {
  const chain = appOf((scheduler, work) => scheduler.schedule(work, 'parent', {}, every.hours(1)).include(work, 'child', {}));

  it('is raised with what breaks it, also by close, which closes nevertheless', async () => {
    const kit = await createTestKit(chain);
    await kit.drain();
    await kit.checkInvariants();
    await query(kit.databaseUrl, 'update waybill.manifest_dependency set consumed_success_count = 99');
    await expect(kit.checkInvariants()).rejects.toThrow(/1 violations of invariants:\n {2}\w+: .*child/);
    await expect(kit.close()).rejects.toThrow('1 violations of invariants');
    await expect(kit.drain()).rejects.toThrow('this test kit was closed');
  });

  it('is raised at rest, if it only holds eventually', async () => {
    const kit = await createTestKit(chain);
    await kit.drain();
    await query(kit.databaseUrl, `update waybill.manifest set next_due_at = '2025-12-31T00:00:00Z' where external_id = 'parent'`);
    await expect(kit.checkInvariants()).rejects.toThrow('a_due_manifest_is_looked_at: manifest parent');
    await kit.trigger('parent');
    await kit.checkInvariants();
    await kit.drain();
    await kit.close();
  });
});
