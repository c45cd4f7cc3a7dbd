import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { AwsSolutionsChecks } from 'cdk-nag';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkPools } from '../../infra/constructs/check-pools.ts';
import { Waybill, WaybillDatabase } from '../../infra/index.ts';
import { WaybillStack } from '../../infra/waybill-stack.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { findByType, permissionsByRole, prerequisitesOf, type Resources, shortName } from './read-template.ts';

const temporary = useTemporaryDirectory();

/** Without bundles: what the template says of code is tested where bundles are built. */
function createApp(name: string, { isValidated = false } = {}): App {
  return new App({
    outdir: join(temporary.path, name),
    context: { 'aws:cdk:bundling-stacks': [], 'aws:cdk:enable-path-metadata': true },
    builtinCloudFormationValidation: isValidated,
  });
}

function createStack(app: App, props: Partial<ConstructorParameters<typeof Waybill>[2]> = {}): { stack: Stack; jobs: Waybill } {
  const stack = new Stack(app, 'Test');
  const secret = Secret.fromSecretNameV2(stack, 'DatabaseUrl', 'team/database-url');
  return { stack, jobs: new Waybill(stack, 'Jobs', { app: './never-read.ts', database: WaybillDatabase.fromUrlSecret(secret), ...props }) };
}

describe('the stack of an app with two pools', () => {
  let resources: Resources;
  let metadata: { Waybill: { constructs: Record<string, unknown>[] } };

  beforeAll(() => {
    const app = createApp('two-pools');
    createStack(app, {
      pools: { heavy: { concurrency: 4, batchSize: 2, memoryMegabytes: 2048, timeoutSeconds: 300, environment: { BUCKET: 'raw' } } },
    });
    const { template } = app.synth().getStackByName('Test');
    resources = template.Resources;
    metadata = template.Metadata;
  });

  const environmentOf = (name: string) =>
    findByType(resources, 'AWS::Lambda::Function').find((found) => found.name === name)?.properties.Environment.Variables;

  test('a queue that is answered outlasts one invocation by a minute and has dead letters that are kept for two weeks', () => {
    const queues = findByType(resources, 'AWS::SQS::Queue');
    const redriven = queues.filter(({ properties }) => properties.RedrivePolicy);
    expect(redriven.map(({ name, properties }) => [name, properties.VisibilityTimeout, properties.RedrivePolicy.maxReceiveCount])).toEqual([
      ['Wake/Queue', 120, 5],
      ['Dispatch/Queue', 120, 5],
      ['Pool-default/Work/Queue', 960, 5],
      ['Pool-heavy/Work/Queue', 360, 5],
    ]);
    const targets = redriven.map(({ properties }) => shortName(resources, properties.RedrivePolicy.deadLetterTargetArn['Fn::GetAtt'][0]));
    const ends = queues.filter(({ properties }) => !properties.RedrivePolicy);
    expect(ends.map(({ name }) => name).sort()).toEqual([...targets, 'Schedules/Missed', 'Activator/Unanswered'].sort());
    expect(ends.every(({ properties }) => properties.MessageRetentionPeriod === 14 * 24 * 3600)).toBe(true);
  });

  test('every queue is encrypted and refuses plain connections', () => {
    const queues = findByType(resources, 'AWS::SQS::Queue');
    expect(queues.every(({ properties }) => properties.SqsManagedSseEnabled === true)).toBe(true);
    const guarded = findByType(resources, 'AWS::SQS::QueuePolicy').filter(({ properties }) =>
      properties.PolicyDocument.Statement.some(
        (statement: { Effect: string; Condition: unknown }) => statement.Effect === 'Deny' && statement.Condition,
      ),
    );
    expect(guarded.flatMap(({ properties }) => properties.Queues.map((queue: { Ref: string }) => queue.Ref)).sort()).toEqual(
      queues.map(({ id }) => id).sort(),
    );
  });

  test('every event source reports single failures and limits its own concurrency', () => {
    const sources = findByType(resources, 'AWS::Lambda::EventSourceMapping').map(({ properties }) => [
      shortName(resources, properties.EventSourceArn['Fn::GetAtt'][0]),
      shortName(resources, properties.FunctionName.Ref),
      properties.BatchSize,
      properties.ScalingConfig.MaximumConcurrency,
      properties.FunctionResponseTypes,
    ]);
    expect(sources).toEqual([
      ['Pool-default/Work/Queue', 'Pool-default/Executor/Function', 1, 10, ['ReportBatchItemFailures']],
      ['Pool-heavy/Work/Queue', 'Pool-heavy/Executor/Function', 2, 4, ['ReportBatchItemFailures']],
      ['Wake/Queue', 'Manager/Function', 10, 2, ['ReportBatchItemFailures']],
      ['Dispatch/Queue', 'Dispatcher/Function', 10, 2, ['ReportBatchItemFailures']],
    ]);
  });

  test('every function runs Node 24 on arm64 without reserved concurrency, and may ring what rings it', () => {
    const functions = findByType(resources, 'AWS::Lambda::Function').filter(({ name }) => name.endsWith('/Function'));
    expect(functions).toHaveLength(9);
    for (const { properties } of functions) {
      expect(properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        RecursiveLoop: 'Allow',
      });
      expect(properties.ReservedConcurrentExecutions).toBeUndefined();
    }
  });

  test('each role may do exactly this', () => {
    const always = (process: string) => [
      `logs:CreateLogStream on ${process}/Log`,
      `logs:PutLogEvents on ${process}/Log`,
      'secretsmanager:GetSecretValue on arn:…:secretsmanager:…:…:secret:team/database-url-??????',
    ];
    const answer = (queue: string) =>
      ['DeleteMessage', 'GetQueueAttributes', 'ReceiveMessage'].map((action) => `sqs:${action} on ${queue}`);
    const ring = (...queues: string[]) => queues.map((queue) => `sqs:SendMessage on ${queue}`);
    const expected: Record<string, string[]> = {
      'Manager/Role': [
        ...always('Manager'),
        ...answer('Wake/Queue'),
        ...ring('Wake/Queue', 'Dispatch/Queue', 'Pool-default/Work/Queue', 'Pool-heavy/Work/Queue'),
      ],
      'Dispatcher/Role': [
        ...always('Dispatcher'),
        ...answer('Dispatch/Queue'),
        ...ring('Wake/Queue', 'Dispatch/Queue', 'Pool-default/Work/Queue', 'Pool-heavy/Work/Queue'),
      ],
      'Pool-default/Executor/Role': [
        ...always('Pool-default/Executor'),
        ...answer('Pool-default/Work/Queue'),
        ...ring('Wake/Queue', 'Dispatch/Queue', 'Pool-default/Work/Queue'),
      ],
      'Pool-heavy/Executor/Role': [
        ...always('Pool-heavy/Executor'),
        ...answer('Pool-heavy/Work/Queue'),
        ...ring('Wake/Queue', 'Dispatch/Queue', 'Pool-heavy/Work/Queue'),
      ],
      'Activator/Role': [...always('Activator'), ...ring('Dispatch/Queue', 'Activator/Unanswered')],
      'Sync/Role': [...always('Sync'), ...ring('Wake/Queue')],
      'Api/Role': [...always('Api'), ...ring('Wake/Queue', 'Dispatch/Queue')],
      'Migrate/Role': always('Migrate'),
      'Housekeeping/Role': always('Housekeeping'),
      'Schedules/Heartbeat/Role': ['lambda:InvokeFunction on Manager/Function', 'sqs:SendMessage on Schedules/Missed'],
      'Schedules/Hourly/Role': ['lambda:InvokeFunction on Housekeeping/Function', 'sqs:SendMessage on Schedules/Missed'],
    };
    const { 'Test/AWSCDK.TriggerCustomResourceProviderCustomResourceProvider/Role': provider, ...roles } = permissionsByRole(resources);
    expect(roles).toEqual(Object.fromEntries(Object.entries(expected).map(([role, permissions]) => [role, permissions.sort()])));
    expect(provider).toEqual(['lambda:InvokeFunction on Migrate/Function', 'lambda:InvokeFunction on Sync/Function']);
  });

  test('each function knows exactly the queues that it rings', () => {
    const inAll = ['NODE_OPTIONS', 'WAYBILL_DATABASE_SECRET_ID', 'WAYBILL_LOG_LEVEL'];
    const wake = 'WAYBILL_WAKE_QUEUE_URL';
    const dispatch = 'WAYBILL_DISPATCH_QUEUE_URL';
    const work = 'WAYBILL_WORK_QUEUE_URL';
    const expected: Record<string, string[]> = {
      'Manager/Function': [wake, dispatch, 'WAYBILL_POOLS'],
      'Dispatcher/Function': [wake, dispatch, 'WAYBILL_POOLS'],
      'Pool-default/Executor/Function': [wake, dispatch, work, 'WAYBILL_POOL'],
      'Pool-heavy/Executor/Function': [wake, dispatch, work, 'WAYBILL_POOL', 'BUCKET'],
      'Activator/Function': [dispatch],
      'Sync/Function': [wake],
      'Api/Function': [wake, dispatch, 'WAYBILL_POOL_SIZES'],
      'Migrate/Function': [],
      'Housekeeping/Function': ['WAYBILL_RETENTION_DAYS'],
    };
    for (const [name, variables] of Object.entries(expected)) {
      expect(Object.keys(environmentOf(name)).sort(), name).toEqual([...inAll, ...variables].sort());
      expect(environmentOf(name)).toMatchObject({
        NODE_OPTIONS: '--enable-source-maps',
        WAYBILL_DATABASE_SECRET_ID: 'team/database-url',
        WAYBILL_LOG_LEVEL: 'info',
      });
    }
  });

  test('the pools reach the dispatcher as JSON once their queue URLs are known', () => {
    const [separator, parts] = environmentOf('Dispatcher/Function').WAYBILL_POOLS['Fn::Join'];
    const text = parts
      .map((part: string | { Ref: string }) => (typeof part === 'string' ? part : shortName(resources, part.Ref)))
      .join(separator);
    expect(JSON.parse(text)).toEqual({
      default: { queueUrl: 'Pool-default/Work/Queue', concurrency: 10, batchSize: 1 },
      heavy: { queueUrl: 'Pool-heavy/Work/Queue', concurrency: 4, batchSize: 2 },
    });
  });

  test('the pools reach the api as sizes, without the queues that it does not ring', () => {
    expect(JSON.parse(environmentOf('Api/Function').WAYBILL_POOL_SIZES)).toEqual({
      default: { concurrency: 10, batchSize: 1 },
      heavy: { concurrency: 4, batchSize: 2 },
    });
  });

  test('migrate runs before any process that uses the schema is created or changed', () => {
    const processes = ['Manager', 'Dispatcher', 'Activator', 'Housekeeping', 'Api', 'Pool-default/Executor', 'Pool-heavy/Executor'];
    for (const process of processes) expect(prerequisitesOf(resources, `${process}/Function`), process).toContain('Deployment/Migration');
    const before = prerequisitesOf(resources, 'Deployment/Migration');
    expect([...before]).toEqual(expect.arrayContaining(['Migrate/Function', 'Migrate/Role/DefaultPolicy']));
    for (const process of processes) expect(before).not.toContain(`${process}/Function`);
  });

  test('sync runs after every function, queue, event source and schedule is in place', () => {
    const before = prerequisitesOf(resources, 'Deployment/Synchronization');
    for (const type of [
      'AWS::Lambda::Function',
      'AWS::SQS::Queue',
      'AWS::Lambda::EventSourceMapping',
      'AWS::Scheduler::Schedule',
      'AWS::IAM::Policy',
    ]) {
      for (const { name } of findByType(resources, type)) expect(before, type).toContain(name);
    }
    expect(before).toContain('Deployment/Migration');
  });

  test('the clock invokes the manager every minute and housekeeping every hour, and drops what is stale', () => {
    const schedules = findByType(resources, 'AWS::Scheduler::Schedule').map(({ properties }) => [
      shortName(resources, properties.Target.Arn['Fn::GetAtt'][0]),
      properties.ScheduleExpression,
      JSON.parse(properties.Target.Input),
      properties.Target.RetryPolicy,
      shortName(resources, properties.Target.DeadLetterConfig.Arn['Fn::GetAtt'][0]),
    ]);
    expect(schedules).toEqual([
      [
        'Manager/Function',
        'rate(1 minute)',
        { source: 'heartbeat' },
        { MaximumRetryAttempts: 1, MaximumEventAgeInSeconds: 60 },
        'Schedules/Missed',
      ],
      [
        'Housekeeping/Function',
        'rate(1 hour)',
        { source: 'schedule' },
        { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 900 },
        'Schedules/Missed',
      ],
    ]);
    const invocations = findByType(resources, 'AWS::Lambda::EventInvokeConfig');
    expect(
      invocations.map(({ properties }) => [shortName(resources, properties.FunctionName.Ref), properties.MaximumRetryAttempts]),
    ).toEqual([
      ['Manager/Function', 0],
      ['Activator/Function', 2],
      ['Housekeeping/Function', 0],
    ]);
  });

  test('an asynchronous activation that keeps failing is kept for a person', () => {
    const invocations = findByType(resources, 'AWS::Lambda::EventInvokeConfig').filter(({ properties }) => properties.DestinationConfig);
    expect(
      invocations.map(({ properties }) => [
        shortName(resources, properties.FunctionName.Ref),
        properties.MaximumEventAgeInSeconds,
        shortName(resources, properties.DestinationConfig.OnFailure.Destination['Fn::GetAtt'][0]),
      ]),
    ).toEqual([['Activator/Function', 900, 'Activator/Unanswered']]);
  });

  test('every route of the HTTP API asks for IAM credentials, and its stage is throttled and logged', () => {
    const routes = findByType(resources, 'AWS::ApiGatewayV2::Route').map(({ properties }) => [
      properties.RouteKey,
      properties.AuthorizationType,
    ]);
    expect(routes).toEqual([
      ['ANY /v1/{proxy+}', 'AWS_IAM'],
      ['GET /', 'AWS_IAM'],
      ['GET /{proxy+}', 'AWS_IAM'],
    ]);
    const [integration] = findByType(resources, 'AWS::ApiGatewayV2::Integration');
    expect(integration?.properties.PayloadFormatVersion).toBe('2.0');
    const [stage] = findByType(resources, 'AWS::ApiGatewayV2::Stage');
    expect(stage?.properties).toMatchObject({
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 50, ThrottlingBurstLimit: 100 },
    });
    expect(stage?.properties.AccessLogSettings).toBeDefined();
  });

  test('the metadata names the construct, the secret of its database and the functions that change with the app', () => {
    const idOf = (name: string) => findByType(resources, 'AWS::Lambda::Function').find((found) => found.name === name)?.id;
    expect(metadata.Waybill.constructs).toEqual([
      {
        path: 'Test/Jobs',
        databaseUrlSecretName: 'team/database-url',
        executorFunctionNames: [{ Ref: idOf('Pool-default/Executor/Function') }, { Ref: idOf('Pool-heavy/Executor/Function') }],
        syncFunctionName: { Ref: idOf('Sync/Function') },
      },
    ]);
  });
});

test('two constructs in one stack are both named in the metadata', () => {
  const app = createApp('two-constructs');
  const { stack } = createStack(app);
  const secret = Secret.fromSecretNameV2(stack, 'OtherDatabaseUrl', 'other');
  new Waybill(stack, 'Reports', { app: './never-read.ts', database: WaybillDatabase.fromUrlSecret(secret) });
  const { constructs } = app.synth().getStackByName('Test').template.Metadata.Waybill;
  expect(constructs).toMatchObject([
    { path: 'Test/Jobs', databaseUrlSecretName: 'team/database-url' },
    { path: 'Test/Reports', databaseUrlSecretName: 'other' },
  ]);
});

test('a pool can be granted access to what its workflows use', () => {
  const app = createApp('grant');
  const { stack, jobs } = createStack(app);
  new Bucket(stack, 'Raw').grantRead(jobs.pool('default'));
  const { Resources } = app.synth().getStackByName('Test').template;
  const granted = permissionsByRole(Resources)['Pool-default/Executor/Role'] ?? [];
  expect(granted.some((permission) => permission.startsWith('s3:GetObject'))).toBe(true);
});

test('another function may be let to activate dormant dependents, and gets nothing but the activator’s name and the right to invoke it', () => {
  const app = createApp('grant-activate');
  const { stack, jobs } = createStack(app);
  const role = new Role(stack, 'Importer', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  jobs.grantActivate(role);
  const { Resources } = app.synth().getStackByName('Test').template;
  expect(permissionsByRole(Resources)['Test/Importer']).toEqual(['lambda:InvokeFunction on Activator/Function']);
  expect(shortName(Resources, stack.resolve(jobs.activatorFunctionName).Ref)).toBe('Activator/Function');
  expect(findByType(Resources, 'AWS::Lambda::Url')).toEqual([]);
});

test('a secret that the stack owns is read by its full ARN and no wildcard', () => {
  const app = createApp('owned-secret');
  const stack = new Stack(app, 'Test');
  const secret = new Secret(stack, 'DatabaseUrl');
  new Waybill(stack, 'Jobs', { app: './never-read.ts', database: WaybillDatabase.fromUrlSecret(secret) });
  const { Resources } = app.synth().getStackByName('Test').template;
  expect(permissionsByRole(Resources)['Api/Role']).toContain('secretsmanager:GetSecretValue on Test/DatabaseUrl');
});

test('asking for a pool that does not exist names those that do', () => {
  const { jobs } = createStack(createApp('unknown-pool'), { pools: { heavy: {} } });
  expect(() => jobs.pool('haevy')).toThrow("there is no pool 'haevy': this stack has default, heavy; add it to pools");
});

test('every mistake in the pools is reported together', () => {
  const pools = { Heavy: {}, light: { concurrency: 1, batchSize: 11 }, odd: { environment: { WAYBILL_POOL: 'x' }, timeoutSeconds: 1.5 } };
  expect(() => createStack(createApp('bad-pools'), { pools })).toThrow(
    [
      'the pools of this stack are invalid:',
      "- pool name 'Heavy' is not allowed: use lower-case letters, digits and dashes, a letter first, at most 32",
      "- concurrency of pool 'light' is 1: it must be a whole number from 2 to 1000",
      "- batchSize of pool 'light' is 11: it must be a whole number from 1 to 10",
      "- timeoutSeconds of pool 'odd' is 1.5: it must be a whole number from 1 to 900",
      "- environment of pool 'odd' sets WAYBILL_POOL: names that begin with WAYBILL_ are reserved, choose another",
    ].join('\n'),
  );
});

test.each([0, 3_651, 1.5, Number.NaN])('a retention of %d days is refused', (retentionDays) => {
  expect(() => createStack(createApp(`retention-${retentionDays}`), { retentionDays })).toThrow(
    `retentionDays is ${retentionDays}: it must be a whole number from 1 to 3650`,
  );
});

test('housekeeping knows the retention that was asked for', () => {
  const app = createApp('retention');
  createStack(app, { retentionDays: 14 });
  const functions = findByType(app.synth().getStackByName('Test').template.Resources, 'AWS::Lambda::Function');
  const housekeeping = functions.find(({ name }) => name === 'Housekeeping/Function');
  expect(housekeeping?.properties.Environment.Variables).toMatchObject({ WAYBILL_RETENTION_DAYS: '14' });
});

test('an app that names a pool the stack does not have is refused with everyone who names it', () => {
  const workflows = [
    { name: 'extract', pool: 'default' },
    { name: 'load', pool: 'heavy' },
  ];
  const schedule = { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' } as const;
  const manifests = [{ externalId: 'extract-data', workflow: 'extract', input: {}, group: 'etl', schedule, pool: 'lihgt' }];
  expect(() => checkPools({ workflows, manifests }, ['default', 'light'])).toThrow(
    [
      'the app uses pools that this stack does not have (it has default, light); add them to pools or name another:',
      "- workflow 'load' runs in pool 'heavy'",
      "- manifest 'extract-data' runs in pool 'lihgt'",
    ].join('\n'),
  );
  expect(() => checkPools({ workflows, manifests: [] }, ['default', 'heavy'])).not.toThrow();
});

test('the stack passes the AWS Solutions rules and CloudFormation’s own, with every acknowledgement explained', () => {
  const app = createApp('nag', { isValidated: true });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const stack = new WaybillStack(app, 'Waybill', { app: './never-read.ts', databaseUrlSecretName: 'team/database-url' });
  const { directory } = app.synth();
  const { pluginReports } = JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8'));
  expect(pluginReports.flatMap((report: { violations: unknown[] }) => report.violations)).toEqual([]);
  const acknowledged = stack.node
    .findAll()
    .flatMap((construct) =>
      construct.node.metadata
        .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
        .map(({ data }) => [construct.node.path, data]),
    );
  expect(acknowledged).toEqual([
    ['Waybill/Jobs/Activator/Unanswered', { 'AwsSolutions::AwsSolutions-SQS3': expect.stringMatching(/^.{40,}\.$/) }],
    ['Waybill/Jobs/Schedules/Missed', { 'AwsSolutions::AwsSolutions-SQS3': expect.stringMatching(/^.{40,}\.$/) }],
  ]);
});
