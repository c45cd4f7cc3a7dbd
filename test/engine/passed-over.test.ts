import { beforeEach, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { usePlans } from '../plans/use-plans.ts';
import { pools } from '../support/engine.ts';
import { none } from './use-world.ts';

const world = usePlans();
let asked: unknown[];

beforeEach(() => {
  asked = [];
});

function dispatch() {
  const doorbell = { ...world.doorbell, pokeDispatcher: async (poke?: object) => void asked.push(poke) };
  return dispatcherCycle({ database: world.database, doorbell, pools });
}

it.each([
  { what: 'a job', declare: () => world.sync([{ externalId: 'it', schedule: none }]) },
  { what: 'a plan', declare: () => world.plan('it', [['step']]) },
])('a dispatcher that passed over $what, because somebody held it who may poke nobody, asks for another look', async ({ declare }) => {
  await declare();
  await trigger(world.context, { externalId: 'it' });
  const { admittedCount } = await world.database.transaction(async (db) => {
    await db.query(sql`select from waybill.manifest where external_id = 'it' for no key update`);
    return dispatch();
  });
  expect({ admittedCount, asked }).toEqual({ admittedCount: 0, asked: [{ delaySeconds: 1 }] });
});

it('a dispatcher that passed over nothing is quiet', async () => {
  await world.sync([{ externalId: 'it', schedule: none }]);
  await trigger(world.context, { externalId: 'it' });
  expect(await dispatch()).toMatchObject({ admittedCount: 1 });
  expect(asked).toEqual([]);
});
