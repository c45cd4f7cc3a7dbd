import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTestKit, type TestKit } from 'waybill/testing';
import app from '../../examples/nightly-sync/app.ts';

let kit: TestKit;
beforeEach(async () => {
  process.env.CONNECTOR_MS = '0';
  kit = await createTestKit(app, { startAt: '2026-03-27T12:00:00Z' });
});
afterEach(async () => {
  delete process.env.CONNECTOR_MS;
  delete process.env.UNREACHABLE;
  await kit.close();
});

async function lastNight() {
  const runs = await kit.runs({ manifest: 'nightly-sync' });
  return kit.run(runs.at(-1)!.id);
}

it('six steps in four groups are declared as they are read', async () => {
  const { steps } = await kit.manifest('nightly-sync');
  expect(steps?.map((group) => group.map(({ name }) => name))).toEqual([
    ['HR full import'],
    ['HR full sync'],
    ['AD export', 'LDAP export'],
    ['AD confirming import', 'LDAP confirming import'],
  ]);
});

it('it runs at two in London, in winter and in summer time, and all six steps complete', async () => {
  await kit.advanceTo('2026-03-29T12:00:00Z');
  const runs = await kit.runs({ manifest: 'nightly-sync' });
  expect(runs.map(({ occurrenceAt, state }) => [occurrenceAt, state])).toEqual([
    ['2026-03-28T02:00:00.000Z', 'completed'],
    ['2026-03-29T01:00:00.000Z', 'completed'],
  ]);
  expect((await lastNight()).children.map(({ stepName, groupIndex, state }) => [groupIndex, stepName, state])).toEqual([
    [0, 'HR full import', 'completed'],
    [1, 'HR full sync', 'completed'],
    [2, 'AD export', 'completed'],
    [2, 'LDAP export', 'completed'],
    [3, 'AD confirming import', 'completed'],
    [3, 'LDAP confirming import', 'completed'],
  ]);
});

it('without LDAP the rest is done, with warnings', async () => {
  process.env.UNREACHABLE = 'ldap';
  await kit.trigger('nightly-sync');
  await kit.drain();
  const { state, children } = await lastNight();
  expect(state).toBe('completed_with_warnings');
  expect(children.filter(({ state }) => state === 'failed').map(({ stepName }) => stepName)).toEqual([
    'LDAP export',
    'LDAP confirming import',
  ]);
});

it('without AD nothing is confirmed, and the failure names the step', async () => {
  process.env.UNREACHABLE = 'ad';
  await kit.trigger('nightly-sync');
  await kit.drain();
  const { state, failure, children } = await lastNight();
  expect(state).toBe('failed');
  expect(failure).toMatchObject({ code: 'step_failed', step: 'AD export' });
  expect(children.map(({ stepName, state }) => [stepName, state])).toEqual([
    ['HR full import', 'completed'],
    ['HR full sync', 'completed'],
    ['AD export', 'failed'],
    ['LDAP export', 'completed'],
    ['AD confirming import', 'skipped'],
    ['LDAP confirming import', 'skipped'],
  ]);
});

it('an import that cannot reach HR is tried three times before the night is given up', async () => {
  process.env.UNREACHABLE = 'hr';
  await kit.trigger('nightly-sync');
  await kit.advanceBy({ minutes: 5 });
  const { state, failure, children } = await lastNight();
  expect([state, failure?.step]).toEqual(['failed', 'HR full import']);
  expect(children.filter(({ stepName }) => stepName === 'HR full import').map(({ attempt, state }) => [attempt, state])).toEqual([
    [1, 'failed'],
    [2, 'failed'],
    [3, 'failed'],
  ]);
});
