// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how CloudFormation and IAM write placeholders
import { describe, expect, it } from 'vitest';
import { createResolver, type ResolverSettings } from '../../../local/template/resolver.ts';
import type { Template } from '../../../local/template/template.ts';

const resources: Template['Resources'] = {
  Jobs: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'jobs' } },
  Database: { Type: 'AWS::RDS::DBInstance' },
  Absent: { Type: 'AWS::SQS::Queue', Condition: 'Never' },
};

function resolverFor(template: Partial<Template> = {}, settings: Partial<ResolverSettings> = {}) {
  return createResolver({
    template: {
      Resources: resources,
      Parameters: {
        Stage: { Type: 'String', Default: 'test' },
        Zones: { Type: 'CommaDelimitedList', Default: 'x, y' },
        Required: { Type: 'String' },
        FromStore: { Type: 'AWS::SSM::Parameter::Value<String>', Default: '/some/path' },
      },
      Mappings: { Sizes: { large: { memory: 512 } } },
      Conditions: {
        Always: { 'Fn::Equals': [{ Ref: 'Stage' }, 'test'] },
        Never: { 'Fn::Not': [{ Condition: 'Always' }] },
      },
      ...template,
    },
    stackName: 'Demo',
    region: 'us-east-1',
    awsEndpointUrl: 'http://127.0.0.1:4566',
    ...settings,
  });
}

const JOBS_URL = 'http://127.0.0.1:4566/000000000000/jobs';
const JOBS_ARN = 'arn:aws:sqs:us-east-1:000000000000:jobs';

describe('intrinsic functions', () => {
  it.each<[string, unknown, unknown]>([
    ['a literal is itself', { a: [1, true, null, 'x'] }, { a: [1, true, null, 'x'] }],
    ['Ref of a resource is its physical id', { Ref: 'Jobs' }, JOBS_URL],
    ['Ref of a parameter is its default', { Ref: 'Stage' }, 'test'],
    ['Ref of a list parameter is a list', { Ref: 'Zones' }, ['x', 'y']],
    ['Ref of AWS::AccountId is the account', { Ref: 'AWS::AccountId' }, '000000000000'],
    ['Ref of AWS::Region is the region', { Ref: 'AWS::Region' }, 'us-east-1'],
    ['Ref of AWS::Partition is aws', { Ref: 'AWS::Partition' }, 'aws'],
    ['Ref of AWS::StackName is the stack', { Ref: 'AWS::StackName' }, 'Demo'],
    ['Ref of AWS::URLSuffix is the domain of AWS', { Ref: 'AWS::URLSuffix' }, 'amazonaws.com'],
    ['Ref of AWS::StackId is an ARN', { Ref: 'AWS::StackId' }, 'arn:aws:cloudformation:us-east-1:000000000000:stack/Demo/local'],
    ['AWS::NoValue removes its property and its list item', { a: { Ref: 'AWS::NoValue' }, b: [1, { Ref: 'AWS::NoValue' }] }, { b: [1] }],
    ['a plain key called Ref among others is data', { Ref: 'Jobs', other: 1 }, { Ref: 'Jobs', other: 1 }],
    ['Fn::GetAtt takes a list', { 'Fn::GetAtt': ['Jobs', 'Arn'] }, JOBS_ARN],
    ['Fn::GetAtt takes a dotted name', { 'Fn::GetAtt': 'Jobs.QueueName' }, 'jobs'],
    ['Fn::Join joins resolved parts', { 'Fn::Join': ['-', ['a', { Ref: 'Stage' }, 1]] }, 'a-test-1'],
    ['Fn::Join joins a computed list', { 'Fn::Join': ['+', { Ref: 'Zones' }] }, 'x+y'],
    ['Fn::Join leaves out what has no value', { 'Fn::Join': ['-', ['a', { Ref: 'AWS::NoValue' }, 'b']] }, 'a-b'],
    [
      'Fn::Sub fills in names, attributes and pseudo parameters',
      { 'Fn::Sub': '${Stage} ${Jobs.Arn} ${AWS::Region}' },
      `test ${JOBS_ARN} us-east-1`,
    ],
    ['Fn::Sub leaves literals', { 'Fn::Sub': 'a ${!Stage} b' }, 'a ${Stage} b'],
    ['Fn::Sub prefers its own variables', { 'Fn::Sub': ['${Stage}/${q}', { Stage: 'mine', q: { Ref: 'Jobs' } }] }, `mine/${JOBS_URL}`],
    [
      'Fn::Select takes a position as number or text',
      [{ 'Fn::Select': [0, ['a', 'b']] }, { 'Fn::Select': ['1', { Ref: 'Zones' }] }],
      ['a', 'y'],
    ],
    ['Fn::Split splits a resolved text', { 'Fn::Select': [5, { 'Fn::Split': [':', { 'Fn::GetAtt': ['Jobs', 'Arn'] }] }] }, 'jobs'],
    ['Fn::If takes the branch of its condition', [{ 'Fn::If': ['Always', 1, 2] }, { 'Fn::If': ['Never', 1, 2] }], [1, 2]],
    ['Fn::If does not look at the other branch', { 'Fn::If': ['Never', { Ref: 'Nonsense' }, 'fine'] }, 'fine'],
    ['Fn::If may remove a property', { a: { 'Fn::If': ['Never', 1, { Ref: 'AWS::NoValue' }] } }, {}],
    ['Fn::Equals compares as text', { 'Fn::Equals': ['1', 1] }, true],
    ['Fn::And needs all', { 'Fn::And': [{ Condition: 'Always' }, { Condition: 'Never' }] }, false],
    ['Fn::Or needs one', { 'Fn::Or': [{ Condition: 'Never' }, { Condition: 'Always' }] }, true],
    ['Fn::FindInMap looks a value up', { 'Fn::FindInMap': ['Sizes', 'large', 'memory'] }, 512],
    ['Fn::Base64 encodes', { 'Fn::Base64': { Ref: 'Stage' } }, 'dGVzdA=='],
    ['Fn::GetAZs names three zones', { 'Fn::GetAZs': '' }, ['us-east-1a', 'us-east-1b', 'us-east-1c']],
    ['functions nest', { 'Fn::Join': ['', ['<', { 'Fn::Sub': ['${a}', { a: { 'Fn::Select': [0, { Ref: 'Zones' }] } }] }, '>']] }, '<x>'],
  ])('%s', (_, value, expected) => {
    expect(resolverFor().resolve(value)).toEqual(expected);
  });

  it.each<[string, unknown, RegExp]>([
    ['a missing resource', { Ref: 'Missing' }, /^F\.Environment refers to 'Missing', which is no resource, parameter or pseudo parameter/],
    ['a name that every object inherits', { Ref: 'constructor' }, /refers to 'constructor'/],
    [
      'a resource whose condition is false',
      { Ref: 'Absent' },
      /refers to 'Absent', which does not exist because its condition 'Never' is false/,
    ],
    [
      'an unknown attribute',
      { 'Fn::GetAtt': ['Jobs', 'Colour'] },
      /^F\.Environment asks for attribute 'Colour' of 'Jobs' .*known are Arn, QueueName/,
    ],
    [
      'an attribute of a type that is not emulated',
      { 'Fn::GetAtt': ['Database', 'Endpoint.Port'] },
      /'Endpoint\.Port' of 'Database'.*AWS::RDS::DBInstance/,
    ],
    ['an unknown function', { 'Fn::Transform': {} }, /^F\.Environment uses Fn::Transform, which is not known here/],
    ['a function next to other keys', { 'Fn::Sub': 'a', b: 1 }, /mixes Fn::Sub with other keys/],
    ['values of other stacks', { 'Fn::ImportValue': 'Other' }, /Fn::ImportValue.*"Other"/],
    ['network arithmetic', { 'Fn::Cidr': ['10.0.0.0/16', 2, 8] }, /Fn::Cidr/],
    ['an undefined condition', { 'Fn::If': ['Perhaps', 1, 2] }, /names the condition 'Perhaps'/],
    ['a selection outside the list', { 'Fn::Select': [2, ['a', 'b']] }, /selects item 2 of a list of 2: it takes 0 to 1/],
    ['a missing map entry', { 'Fn::FindInMap': ['Sizes', 'small', 'memory'] }, /looks up Sizes\.small\.memory/],
    ['a list where a text belongs', { 'Fn::Base64': { Ref: 'Zones' } }, /needs a text, but found \["x","y"\]/],
    ['a parameter without a value', { Ref: 'Required' }, /parameter 'Required'.*pass one/],
    ['a parameter kept in Systems Manager', { Ref: 'FromStore' }, /parameter 'FromStore'.*pass one/],
    [
      'a dynamic reference without a source of secrets',
      '{{resolve:secretsmanager:db:SecretString:password}}',
      /^F\.Environment contains '\{\{resolve/,
    ],
    ['a dynamic reference to another service', '{{resolve:ssm:/a/b}}', /dynamic references to ssm/],
  ])('refuses %s and names the place', (_, value, message) => {
    expect(() => resolverFor().resolve(value, 'F.Environment')).toThrow(message);
  });

  it('names the logical id and the path of the property that is wrong', () => {
    const resolver = resolverFor({
      Resources: { F: { Type: 'AWS::Lambda::Function', Properties: { Environment: { Variables: { Q: { Ref: 'No' } } } } } },
    });
    expect(() => resolver.resolveResource('F')).toThrow(/^F\.Environment\.Variables\.Q refers to 'No'/);
  });

  it('prefers given parameters to defaults', () => {
    const resolver = resolverFor({}, { parameters: { Stage: 'live', FromStore: 'value' } });
    expect(resolver.resolve([{ Ref: 'Stage' }, { Ref: 'FromStore' }, { 'Fn::If': ['Never', 1, 2] }])).toEqual(['live', 'value', 1]);
  });
});

describe('circles', () => {
  it('refuses resources that take their names from each other, with the path', () => {
    const resolver = resolverFor({
      Resources: {
        A: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::GetAtt': ['B', 'QueueName'] } } },
        B: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::Sub': 'x-${A}' } } },
      },
    });
    expect(() => resolver.ref('A')).toThrow(/circle of references: A → B → A/);
  });

  it('refuses conditions that need each other', () => {
    const resolver = resolverFor({ Conditions: { A: { 'Fn::Not': [{ Condition: 'B' }] }, B: { Condition: 'A' } } });
    expect(() => resolver.resolve({ 'Fn::If': ['A', 1, 2] })).toThrow(/condition A → condition B → condition A/);
  });

  it('goes on working after a refusal', () => {
    const resolver = resolverFor();
    expect(() => resolver.resolve({ 'Fn::GetAtt': ['Jobs', 'Colour'] })).toThrow();
    expect(resolver.attribute('Jobs', 'Arn')).toBe(JOBS_ARN);
  });

  it('allows two resources that mention each other, as long as their names do not', () => {
    const resolver = resolverFor({
      Resources: {
        A: { Type: 'AWS::SQS::Queue', Properties: { Tag: { Ref: 'B' } } },
        B: { Type: 'AWS::SQS::Queue', Properties: { Tag: { Ref: 'A' } } },
      },
    });
    expect(resolver.resolveResource('A').properties).toEqual({ Tag: 'http://127.0.0.1:4566/000000000000/Demo-B' });
  });
});

describe('dynamic references', () => {
  const arn = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:db-AbCdEf';

  it('asks for the secret and key that the text names, after all functions have run', () => {
    const asked: unknown[] = [];
    const resolver = resolverFor({}, { resolveSecret: (reference) => `<${asked.push(reference)}>` });
    const value = {
      'Fn::Join': ['', ['postgres://', `{{resolve:secretsmanager:${arn}:SecretString:user::}}`, ':', '{{resolve:secretsmanager:db}}']],
    };
    expect(resolver.resolve(value)).toBe('postgres://<1>:<2>');
    expect(asked).toEqual([{ secretId: arn, jsonKey: 'user' }, { secretId: 'db' }]);
  });

  it('does not follow a reference that comes out of a secret', () => {
    const secret = '{{resolve:secretsmanager:other}} $& $1';
    const resolver = resolverFor({}, { resolveSecret: () => secret });
    expect(resolver.resolve({ a: { 'Fn::Sub': '${Stage} {{resolve:secretsmanager:db}}' } })).toEqual({ a: `test ${secret}` });
  });
});

describe('resources', () => {
  it('does not contain a resource whose condition is false', () => {
    const resolver = resolverFor();
    expect(['Jobs', 'Absent', 'Missing'].map((logicalId) => resolver.exists(logicalId))).toEqual([true, false, false]);
    expect(() => resolver.resolveResource('Absent')).toThrow(/its condition 'Never' is false/);
  });

  it('is answered with its type and its resolved properties', () => {
    const resolver = resolverFor({
      Resources: {
        ...resources,
        M: { Type: 'AWS::Lambda::EventSourceMapping', Properties: { EventSourceArn: { 'Fn::GetAtt': ['Jobs', 'Arn'] } } },
      },
    });
    expect(resolver.resolveResource('M')).toEqual({ type: 'AWS::Lambda::EventSourceMapping', properties: { EventSourceArn: JOBS_ARN } });
    expect(resolver.resolveResource('Database')).toEqual({ type: 'AWS::RDS::DBInstance', properties: {} });
  });
});
