import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isAlive } from '../../local/postgres/read-process.ts';
import type { Template } from '../../local/template/template.ts';
import { listExecutions } from '../support/ask-api.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { bootStack, resourceAt, useAssembly } from '../support/edited-stack.ts';
import { waitFor } from '../support/wait-for.ts';

/* What the template says is what runs here: each test changes one thing in it and sees just that change. */
const { edited } = useAssembly(join(import.meta.dirname, 'apps/report-environment.ts'));
const patience = { timeout: 60_000 };

/** The first execution, once it is in this state. */
const awaitExecution = (apiUrl: string, state: string, told: { logs: string[] }) =>
  waitFor(`an execution that is ${state}`, async () => (await listExecutions(apiUrl, `state=${state}`))[0], {
    seconds: 30,
    describe: () => told.logs.join('\n'),
  });

const environmentOf = (resources: Template['Resources'], path: string) =>
  resourceAt(resources, 'AWS::Lambda::Function', path).Properties!.Environment as { Variables: Record<string, unknown> };

describe('a variable that is added to a function', patience, () => {
  const database = useEmptyDatabase();

  test('arrives in its process', async () => {
    const stack = edited('variable', (resources) => {
      environmentOf(resources, 'Executor/Function/Resource').Variables.GREETING = 'hello from the template';
    });
    const booted = await bootStack(stack, database.url);
    const { output } = await awaitExecution(booted.apiUrl, 'completed', booted);
    expect(output).toEqual({ value: 'hello from the template' });
    expect(booted.refusals).toEqual([]);
    expect(booted.problems).toEqual([]);
  });
});

describe('a grant that is taken from a role', patience, () => {
  const database = useEmptyDatabase();

  test('makes exactly that call fail as AWS would refuse it, and nothing is lost', async () => {
    let queueName = '';
    const stack = edited('grant', (resources) => {
      const work = resourceAt(resources, 'AWS::SQS::Queue', 'Pool-default/Work/Queue/Resource');
      queueName = work.logicalId;
      const policy = resourceAt(resources, 'AWS::IAM::Policy', 'Dispatcher/Role/DefaultPolicy/Resource');
      const { Statement: statements } = policy.Properties!.PolicyDocument as { Statement: { Action: string; Resource: unknown[] }[] };
      const send = statements.find(({ Action }) => Action === 'sqs:SendMessage')!;
      const remaining = send.Resource.filter((resource) => !JSON.stringify(resource).includes(work.logicalId));
      expect(remaining).toHaveLength(send.Resource.length - 1);
      send.Resource = remaining;
    });
    const booted = await bootStack(stack, database.url);
    await waitFor('the refusal', () => booted.logs.some((line) => line.includes('bells could not be rung')), {
      seconds: 30,
      describe: () => booted.logs.join('\n'),
    });

    expect(booted.refusals).toEqual([
      {
        functionName: 'Jobs/Dispatcher',
        action: 'sqs:SendMessage',
        resource: expect.stringMatching(new RegExp(`^arn:aws:sqs:us-east-1:000000000000:.*${queueName}`)),
        reason: 'implicit',
      },
    ]);
    const said = booted.logs.find((line) => line.includes('bells could not be rung'))!;
    expect(JSON.parse(said)).toMatchObject({
      source: 'dispatcher',
      error: {
        name: expect.stringMatching(/^AccessDenied/),
        message: expect.stringContaining('is not authorized to perform: sqs:SendMessage'),
      },
    });
    expect(await awaitExecution(booted.apiUrl, 'pending', booted)).toMatchObject({ manifest: 'report', sentAt: null, startedAt: null });
    expect(booted.problems).toEqual([]);
  });
});

describe('a resource of a kind that cannot run here', patience, () => {
  const database = useEmptyDatabase();

  test('is reported by the name people gave it, and the rest runs', async () => {
    const stack = edited('unknown', (resources) => {
      resources.Uploads0D2A7A3B = { Type: 'AWS::S3::Bucket', Metadata: { 'aws:cdk:path': 'Waybill/Uploads/Resource' } };
    });
    const booted = await bootStack(stack, database.url);
    expect(booted.cloud?.notRun).toEqual([{ name: 'Uploads', type: 'AWS::S3::Bucket' }]);
    await awaitExecution(booted.apiUrl, 'completed', booted);
  });
});

describe('a deploy trigger that fails', patience, () => {
  const database = useEmptyDatabase();

  test.each([
    ['Migrate', 'Jobs/Migrate/Function/Resource'],
    ['Sync', 'Jobs/Sync/Function/Resource'],
  ])('fails the start with its reason when it is %s, and leaves no process', async (name, path) => {
    const stack = edited(`trigger-${name}`, (resources) => {
      environmentOf(resources, path).Variables.WAYBILL_DATABASE_SECRET_ID = 'somebody/elses';
    });
    const { cloud, error, pids } = await bootStack(stack, database.url);
    expect(cloud).toBeUndefined();
    expect(error?.message).toMatch(
      new RegExp(`^deploy trigger Jobs/${name} failed, so the stack was not brought up: ResourceNotFoundException: .*'somebody/elses'`),
    );
    expect(pids).not.toEqual([]);
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
