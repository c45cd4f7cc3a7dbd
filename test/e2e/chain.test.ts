import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listExecutions } from '../support/ask-api.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { bootStack, stopHeartbeat, useAssembly } from '../support/edited-stack.ts';
import { waitFor } from '../support/wait-for.ts';

const assembly = useAssembly(join(import.meta.dirname, 'apps/chain.ts'));
const database = useEmptyDatabase();

test('a chain runs to its end with the heartbeat switched off: completion drives it', { timeout: 90_000 }, async () => {
  const booted = await bootStack(assembly.edited('quiet', stopHeartbeat), database.url);
  const done = await waitFor(
    'the end of the chain',
    async () => {
      const completed = await listExecutions(booted.apiUrl, 'state=completed');
      return completed.length === 3 ? completed : undefined;
    },
    { seconds: 45, describe: () => booted.logs.join('\n') },
  );
  const byName = new Map(done.map((execution) => [execution.manifest, execution]));
  const hops = [
    ['a', 'b'],
    ['b', 'c'],
  ].map(([parent, child]) => Date.parse(String(byName.get(child!)!.startedAt)) - Date.parse(String(byName.get(parent!)!.finishedAt)));
  console.log(`hops of a chain on the local cloud: ${hops.join(' and ')} ms`);
  expect(Math.min(...hops)).toBeGreaterThanOrEqual(0);
  expect(booted.problems).toEqual([]);
});
