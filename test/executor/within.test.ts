import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isConnectionLost } from '../../shared/db/postgres-errors.ts';
import { within } from '../../shared/executor/within.ts';

/** Comes after a few turns of the event loop, as what a socket has received does. */
async function answerSoon(): Promise<string> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  return 'here';
}

it('silence counts as a lost connection', async () => {
  const error = await within(20, new Promise(() => {})).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ message: 'the database did not answer within 20 ms' });
  expect(isConnectionLost(error)).toBe(true);
});

it('an answer that came while the process itself stood still is heard', async () => {
  const answer = within(100, answerSoon());
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  expect(await answer).toBe('here');
});
