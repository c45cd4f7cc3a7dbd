import { describe, expect, it } from 'vitest';
import { createResolver } from '../../../local/template/resolver.ts';
import type { TemplateResource } from '../../../local/template/template.ts';

function resolverFor(resources: Record<string, TemplateResource>) {
  return createResolver({
    template: { Resources: resources },
    stackName: 'Demo',
    region: 'eu-west-1',
    account: '111122223333',
    awsEndpointUrl: 'http://127.0.0.1:9',
    httpApiUrl: 'http://127.0.0.1:4000',
  });
}

describe('physical ids', () => {
  it.each<[string, Record<string, unknown>, string | RegExp, Record<string, string | RegExp>]>([
    [
      'AWS::SQS::Queue',
      {},
      'http://127.0.0.1:9/111122223333/Demo-R',
      { Arn: 'arn:aws:sqs:eu-west-1:111122223333:Demo-R', QueueName: 'Demo-R' },
    ],
    ['AWS::SQS::Queue', { QueueName: 'q' }, 'http://127.0.0.1:9/111122223333/q', { Arn: 'arn:aws:sqs:eu-west-1:111122223333:q' }],
    ['AWS::SQS::Queue', { FifoQueue: true }, /\/Demo-R\.fifo$/, { QueueName: 'Demo-R.fifo' }],
    ['AWS::Lambda::Function', { FunctionName: 'f' }, 'f', { Arn: 'arn:aws:lambda:eu-west-1:111122223333:function:f' }],
    ['AWS::Lambda::Version', { FunctionName: 'f' }, 'arn:aws:lambda:eu-west-1:111122223333:function:f:1', { Version: '1' }],
    ['AWS::Lambda::Version', { FunctionName: 'arn:aws:lambda:eu-west-1:1:function:g' }, 'arn:aws:lambda:eu-west-1:1:function:g:1', {}],
    ['AWS::Lambda::Alias', { FunctionName: 'f', Name: 'live' }, 'arn:aws:lambda:eu-west-1:111122223333:function:f:live', {}],
    ['AWS::Lambda::EventSourceMapping', {}, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/, { Id: /^[0-9a-f-]{36}$/ }],
    ['AWS::IAM::Role', { Path: '/jobs/' }, 'Demo-R', { Arn: 'arn:aws:iam::111122223333:role/jobs/Demo-R', RoleId: /^AROA[A-Z0-9]{17}$/ }],
    ['AWS::IAM::ManagedPolicy', {}, 'arn:aws:iam::111122223333:policy/Demo-R', {}],
    [
      'AWS::SecretsManager::Secret',
      { Name: 'db' },
      /^arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-[A-Za-z0-9]{6}$/,
      { Id: /:secret:db-/ },
    ],
    ['AWS::Logs::LogGroup', {}, 'Demo-R', { Arn: 'arn:aws:logs:eu-west-1:111122223333:log-group:Demo-R:*' }],
    ['AWS::ApiGatewayV2::Api', {}, /^[a-z0-9]{10}$/, { ApiId: /^[a-z0-9]{10}$/, ApiEndpoint: 'http://127.0.0.1:4000' }],
    ['AWS::ApiGatewayV2::Stage', { StageName: '$default' }, '$default', {}],
    ['AWS::Scheduler::Schedule', { GroupName: 'g' }, 'Demo-R', { Arn: 'arn:aws:scheduler:eu-west-1:111122223333:schedule/g/Demo-R' }],
    ['AWS::Scheduler::ScheduleGroup', {}, 'Demo-R', { Arn: 'arn:aws:scheduler:eu-west-1:111122223333:schedule-group/Demo-R' }],
    ['AWS::SNS::Topic', {}, 'arn:aws:sns:eu-west-1:111122223333:Demo-R', { TopicName: 'Demo-R' }],
    ['AWS::S3::Bucket', {}, 'demo-r', { Arn: 'arn:aws:s3:::demo-r' }],
    ['AWS::KMS::Key', {}, /^[0-9a-f-]{36}$/, { Arn: /^arn:aws:kms:eu-west-1:111122223333:key\/[0-9a-f-]{36}$/ }],
    ['AWS::CloudWatch::Alarm', { AlarmName: 'a' }, 'a', { Arn: 'arn:aws:cloudwatch:eu-west-1:111122223333:alarm:a' }],
    ['AWS::Some::Thing', {}, 'Demo-R', {}],
  ])('of %s with %j are %s', (Type, Properties, ref, attributes) => {
    const resolver = resolverFor({ R: { Type, Properties } });
    expect(resolver.ref('R')).toEqual(typeof ref === 'string' ? ref : expect.stringMatching(ref));
    for (const [name, value] of Object.entries(attributes)) {
      expect(resolver.attribute('R', name)).toEqual(typeof value === 'string' ? value : expect.stringMatching(value));
    }
  });

  it('tell apart two long names that differ only at their ends, within the length that the type allows', () => {
    const long = 'A'.repeat(200);
    const resolver = resolverFor({ [`${long}1`]: { Type: 'AWS::Lambda::Function' }, [`${long}2`]: { Type: 'AWS::Lambda::Function' } });
    const names = [String(resolver.ref(`${long}1`)), String(resolver.ref(`${long}2`))];
    expect(new Set(names).size).toBe(2);
    expect(names.map((name) => name.length)).toEqual([64, 64]);
  });

  it('of an attached secret are those of the secret', () => {
    const resolver = resolverFor({
      S: { Type: 'AWS::SecretsManager::Secret' },
      A: { Type: 'AWS::SecretsManager::SecretTargetAttachment', Properties: { SecretId: { Ref: 'S' } } },
    });
    expect(resolver.ref('A')).toBe(resolver.ref('S'));
  });

  it('are the same at every start', () => {
    const refs = ['AWS::KMS::Key', 'AWS::SecretsManager::Secret', 'AWS::ApiGatewayV2::Api'].map((Type) => [
      resolverFor({ R: { Type } }).ref('R'),
      resolverFor({ R: { Type } }).ref('R'),
    ]);
    for (const [first, second] of refs) expect(first).toBe(second);
  });
});
