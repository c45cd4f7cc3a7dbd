import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExecutionDetail } from '../../shared/operations/describe-execution.ts';
import type { ManifestDetail } from '../../shared/operations/describe-manifest.ts';
import { askApi, listExecutions } from '../support/ask-api.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { bootStack, resourceAt, stopHeartbeat, useAssembly } from '../support/edited-stack.ts';
import { waitFor } from '../support/wait-for.ts';

const assembly = useAssembly(join(import.meta.dirname, '../../examples/nightly-sync/app.ts'));
const database = useEmptyDatabase();

test('a plan of six steps runs group by group, and what is parallel really overlaps in time', { timeout: 180_000 }, async () => {
  const stack = assembly.edited('slow', (resources) => {
    // What ends a group must release the next: no heartbeat comes to help.
    stopHeartbeat(resources);
    const { Properties: executor } = resourceAt(resources, 'AWS::Lambda::Function', 'Executor/Function/Resource');
    // Long enough that two of them overlap even when one begins in a process that has to be started first.
    Object.assign((executor!.Environment as { Variables: object }).Variables, { CONNECTOR_MS: '4000' });
  });
  const booted = await bootStack(stack, database.url);
  const describe = () => booted.logs.slice(-60).join('\n');
  const { kind, steps } = await askApi<ManifestDetail>(booted.apiUrl, '/v1/manifests/nightly-sync');
  expect([kind, steps?.map((group) => group.length)]).toEqual(['plan', [1, 1, 2, 2]]);

  const askedAt = Date.now();
  const asked = await fetch(new URL('/v1/manifests/nightly-sync/trigger', booted.apiUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(await asked.json()).toMatchObject({ outcome: 'queued' });
  const plan = await waitFor(
    'the end of the plan',
    async () =>
      (await listExecutions(booted.apiUrl, 'manifest=nightly-sync')).find((one) => one.parentId === null && one.finishedAt !== null),
    { seconds: 120, describe },
  );
  expect(plan).toMatchObject({ state: 'completed', workflow: null });

  const { children } = await askApi<ExecutionDetail>(booted.apiUrl, `/v1/executions/${plan.id}`);
  expect(children.map(({ stepName, groupIndex, state, attempt }) => [groupIndex, stepName, state, attempt])).toEqual([
    [0, 'HR full import', 'completed', 1],
    [1, 'HR full sync', 'completed', 1],
    [2, 'AD export', 'completed', 1],
    [2, 'LDAP export', 'completed', 1],
    [3, 'AD confirming import', 'completed', 1],
    [3, 'LDAP confirming import', 'completed', 1],
  ]);
  const spans = children.map(({ startedAt, finishedAt }) => ({ startedAt: Date.parse(startedAt!), finishedAt: Date.parse(finishedAt!) }));
  const groups = [0, 1, 2, 3].map((index) => spans.filter((_, place) => children[place]!.groupIndex === index));
  const timeline = [
    askedAt,
    Date.parse(plan.startedAt!),
    ...groups.flatMap((group) => [
      Math.min(...group.map(({ startedAt }) => startedAt)),
      Math.max(...group.map(({ finishedAt }) => finishedAt)),
    ]),
    Date.parse(plan.finishedAt!),
  ];
  console.log(`the timeline of a plan on the local cloud: ${timeline.map((instant) => instant - askedAt).join(', ')} ms`);
  expect(timeline).toHaveLength(11);
  expect(timeline.toSorted((one, other) => one - other)).toEqual(timeline);
  for (const [one, other] of [groups[2]!, groups[3]!] as [(typeof spans)[number], (typeof spans)[number]][])
    expect(Math.max(one.startedAt, other.startedAt)).toBeLessThan(Math.min(one.finishedAt, other.finishedAt));
  expect(booted.problems).toEqual([]);
  expect(booted.refusals).toEqual([]);
});
