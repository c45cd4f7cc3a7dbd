import { beforeEach, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';
import { clear, pools, useEngine } from '../support/engine.ts';
import { createGroup, queueEntries } from './queue-work.ts';

const engine = useEngine();

beforeEach(async () => {
  await clear(engine);
  const groupId = await createGroup(engine, 'etl');
  await queueEntries(engine, [{ groupId }, { groupId }]);
});

const bells = () => engine.rows(sql`select sent_at, ring_count from waybill.execution order by id`);
const dispatch = (ringExecutions: Doorbell['ringExecutions']) =>
  dispatcherCycle({ database: engine.database, doorbell: { ...engine.doorbell, ringExecutions }, pools });

it('notes with the admission that the bell is sent, so that a run is not written once more for it', async () => {
  let noted: unknown;
  const { rungCount } = await dispatch(async (rung) => {
    noted = await bells();
    return rung.map(({ executionId }) => executionId);
  });
  const sent = { sent_at: engine.clock.now(), ring_count: 1 };
  expect({ rungCount, noted, after: await bells() }).toEqual({ rungCount: 2, noted: [sent, sent], after: [sent, sent] });
});

it('notes of a bell that the queue refused that it was not sent, and the manager rings it after half a minute', async () => {
  const { rungCount } = await dispatch(async ([first]) => [first!.executionId]);
  const sent = { sent_at: engine.clock.now(), ring_count: 1 };
  expect({ rungCount, after: await bells() }).toEqual({ rungCount: 1, after: [sent, { sent_at: null, ring_count: 0 }] });
  engine.clock.advance(31);
  await engine.manage();
  expect(await bells()).toMatchObject([{ ring_count: 2 }, { ring_count: 1 }]);
});

it('a dispatcher that was killed between its commit and its bells leaves them to the manager', async () => {
  await expect(dispatch(() => Promise.reject(new Error('killed')))).rejects.toThrow('killed');
  engine.clock.advance(29);
  expect(await engine.manage()).toMatchObject({ rungCount: 0 });
  engine.clock.advance(2);
  expect(await engine.manage()).toMatchObject({ rungCount: 2 });
});
