import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createTestKit, type TestKit } from 'waybill/testing';
import etl from '../../examples/etl/app.ts';

/** The example throws dice: for how many rows it finds, and for whether the warehouse is up. */
const dice = vi.spyOn(Math, 'random');
const up = 0.5;
const down = 0.1;
let kit: TestKit;

async function deploy(startAt: string): Promise<void> {
  kit = await createTestKit(etl, { startAt });
  await kit.disable('extract-customers');
}

beforeEach(() => {
  dice.mockReturnValue(up);
});
afterEach(() => kit.close());

describe('orders', () => {
  beforeEach(() => deploy('2026-03-02T08:00:00Z'));

  it('are extracted, loaded and reported every ten seconds', async () => {
    await kit.advanceBy({ seconds: 19 });
    const runs = await kit.runs();
    expect(runs.map(({ manifest, startedAt }) => `${startedAt?.slice(17, 19)} ${manifest}`)).toEqual([
      '00 extract-orders',
      '00 load-orders',
      '00 report-orders',
      '10 extract-orders',
      '10 load-orders',
      '10 report-orders',
    ]);
    expect(runs.slice(0, 3).map(({ output }) => output)).toEqual([
      { source: 'orders', rowCount: 550 },
      { table: 'orders', key: expect.stringMatching(/^waybill-run-\d+$/), attempt: 1 },
      { title: 'Orders' },
    ]);
    expect(runs.at(-1)?.output).toEqual({ title: 'Orders', previous: '2026-03-02T08:00:00.000Z' });
  });

  it('are loaded with the same key when the warehouse is up again, after a backoff that grows', async () => {
    dice.mockReturnValue(down);
    await kit.drain();
    await kit.disable('extract-orders');
    await kit.advanceBy({ seconds: 3 });
    expect(await kit.runs({ manifest: 'load-orders' })).toMatchObject([{ state: 'failed' }, { state: 'failed' }]);
    dice.mockReturnValue(up);
    await kit.advanceBy({ seconds: 10 });
    const attempts = await kit.runs({ manifest: 'load-orders' });
    expect(attempts).toMatchObject([
      { attempt: 1, state: 'failed', failure: { message: "the warehouse refused the connection for table 'orders'" } },
      { attempt: 2, state: 'failed' },
      { attempt: 3, state: 'completed', output: { key: `waybill-run-${attempts[0]!.id}` } },
    ]);
    expect(await kit.runs({ manifest: 'report-orders' })).toHaveLength(1);
  });

  it('wait for a person when the warehouse stays down, and are reported once they were retried', async () => {
    dice.mockReturnValue(down);
    await kit.drain();
    await kit.disable('extract-orders');
    await kit.advanceBy({ minutes: 2 });
    const [letter] = await kit.deadLetters();
    expect(letter).toMatchObject({ manifest: 'load-orders', failedCount: 5, input: { table: 'orders', failureRate: 0.2 } });
    expect(await kit.runs({ manifest: 'report-orders' })).toEqual([]);

    dice.mockReturnValue(up);
    await kit.retryDeadLetter(letter!.id);
    await kit.drain();
    expect(await kit.runs({ manifest: 'report-orders' })).toMatchObject([{ state: 'completed' }]);
  });
});

describe('the nightly report', () => {
  it.each([
    ['winter', '2026-01-15T01:59:59Z', '2026-01-15T02:00:00.000Z'],
    ['summer', '2026-07-15T00:59:59Z', '2026-07-15T01:00:00.000Z'],
  ])('is made at two o’clock in London in %s', async (_, startAt, twoAt) => {
    await deploy(startAt);
    await kit.disable('extract-orders');
    await kit.advanceBy({ hours: 1 });
    expect(await kit.runs()).toMatchObject([
      { manifest: 'nightly-report', occurrenceAt: twoAt, startedAt: twoAt, output: { title: 'Yesterday', for: twoAt } },
    ]);
  });
});

it('customers are extracted and loaded every fifteen seconds, and not reported', async () => {
  kit = await createTestKit(etl);
  await kit.disable('extract-orders');
  await kit.advanceBy({ seconds: 15 });
  expect((await kit.runs()).map(({ manifest, state }) => `${manifest} ${state}`)).toEqual([
    'extract-customers completed',
    'load-customers completed',
    'extract-customers completed',
    'load-customers completed',
  ]);
});
