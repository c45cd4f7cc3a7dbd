import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { listExecutions } from '../support/ask-api.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { bootStack, editStack, resourceAt } from '../support/edited-stack.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { synthesizeStack } from './apps/activation/synthesize.ts';

/* A function of the user's own activates dependents of a workflow that runs, on the local cloud, with every schedule switched off: only bells drive it. */
const temporary = useTemporaryDirectory();
const patience = { timeout: 90_000 };
let assembly = '';
let releaseFile = '';

beforeAll(() => {
  assembly = join(temporary.path, 'assembly');
  releaseFile = join(temporary.path, 'release');
  synthesizeStack(assembly, releaseFile);
}, 180_000);

describe('another function that was handed the capability of a running workflow', patience, () => {
  const database = useEmptyDatabase();

  test('activates its dependents, which run while it still does', async () => {
    const booted = await bootStack(assembly, database.url);
    const loaded = await waitFor(
      'the end of what was activated',
      async () => {
        const completed = await listExecutions(booted.apiUrl, 'state=completed&workflow=load');
        return completed.length === 3 ? completed : undefined;
      },
      { seconds: 45, describe: () => [...booted.logs, JSON.stringify(booted.refusals)].join('\n') },
    );
    expect(
      loaded.map(({ manifest, input, output, origin, initiator }) => [manifest, input, output, origin, initiator.name]).sort(),
    ).toEqual(['a', 'b', 'own'].map((batch) => [`load-${batch}`, { batch }, { loaded: batch }, 'activation', 'discover']));
    expect(await listExecutions(booted.apiUrl, 'manifest=discover')).toMatchObject([{ state: 'in_progress' }]);

    writeFileSync(releaseFile, '');
    const parent = await waitFor('the parent', async () => (await listExecutions(booted.apiUrl, 'manifest=discover&state=completed'))[0], {
      seconds: 30,
      describe: () => booted.logs.join('\n'),
    });
    const { surveyed, own } = parent.output as { surveyed: { results: unknown; repeated: unknown; refused: unknown }; own: unknown };
    expect(surveyed.results).toMatchObject([
      { externalId: 'load-a', outcome: 'activated' },
      { externalId: 'load-b', outcome: 'activated' },
    ]);
    expect(surveyed.repeated).toEqual(surveyed.results);
    expect(surveyed.refused).toEqual(['discover']);
    expect(own).toMatchObject({ externalId: 'load-own', outcome: 'activated' });
    expect(await listExecutions(booted.apiUrl, 'manifest=load-asleep')).toEqual([]);
    expect([booted.refusals, booted.problems]).toEqual([[], []]);

    const waits = loaded.map(({ createdAt, startedAt }) => Date.parse(String(startedAt)) - Date.parse(String(createdAt)));
    console.log(`from admission to start of what was activated: ${waits.join(', ')} ms`);
  });
});

describe('a function to which the stack did not grant it', patience, () => {
  const database = useEmptyDatabase();

  test('is refused by its role, whatever it was handed', async () => {
    const stack = editStack(assembly, join(temporary.path, 'ungranted'), (resources) => {
      delete resources[resourceAt(resources, 'AWS::IAM::Policy', 'Surveyor/ServiceRole/DefaultPolicy/Resource').logicalId];
      const surveyor = resourceAt(resources, 'AWS::Lambda::Function', 'Surveyor/Resource');
      delete surveyor.DependsOn;
    });
    const booted = await bootStack(stack, database.url);
    const failed = await waitFor('the failure', async () => (await listExecutions(booted.apiUrl, 'state=failed'))[0], {
      seconds: 45,
      describe: () => booted.logs.join('\n'),
    });
    expect(failed.failure?.message).toMatch(
      /^the surveyor failed: AccessDeniedException: .*not authorized to perform: lambda:InvokeFunction/,
    );
    expect(booted.refusals).toMatchObject([{ functionName: 'Surveyor', action: 'lambda:InvokeFunction', reason: 'implicit' }]);
  });
});
