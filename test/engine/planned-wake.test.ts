import { beforeEach, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { clear, useEngine } from '../support/engine.ts';

const engine = useEngine();

beforeEach(() => clear(engine));

it('a cycle that its own planned wake has woken plans the next one, however long the send had taken', async () => {
  const { doorbell, clock } = engine;
  const record = doorbell.pokeManager;
  // The queue counts the delay from the send, while its confirmation is written when the send has returned.
  doorbell.pokeManager = async (poke) => {
    const isSent = await record(poke);
    clock.advance(0.5);
    return isSent;
  };
  await engine.sync([
    { externalId: 'often', schedule: { type: 'interval', intervalSeconds: 10, anchor: 'occurrence' } },
    { externalId: 'seldom', schedule: { type: 'interval', intervalSeconds: 15, anchor: 'occurrence' } },
  ]);
  const sentAt = clock.now();
  await engine.manage();
  expect(doorbell.managerPokes).toMatchObject([{ delaySeconds: 10 }]);
  clock.set(new Date(sentAt.getTime() + 10_000));
  await engine.manage();
  expect(doorbell.managerPokes).toMatchObject([{ delaySeconds: 10 }, { delaySeconds: 5 }]);
});

it('a wake that the queue did not accept is not taken for armed: the next cycle arms another', async () => {
  const { doorbell } = engine;
  const record = doorbell.pokeManager;
  doorbell.managerPokes.length = 0;
  doorbell.pokeManager = async () => false;
  await engine.sync([{ externalId: 'often', schedule: { type: 'interval', intervalSeconds: 10, anchor: 'occurrence' } }]);
  await engine.manage();
  expect(await engine.rows(sql`select wake_generation, armed_generation from waybill.scheduler_state`)).toEqual([
    { wake_generation: 1, armed_generation: 0 },
  ]);
  doorbell.pokeManager = record;
  await engine.manage();
  expect(doorbell.managerPokes).toMatchObject([{ delaySeconds: 10, generation: 2 }]);
});
