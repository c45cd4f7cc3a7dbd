// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how CloudFormation and IAM write placeholders
import { describe, expect, it } from 'vitest';
import { collectRoles } from '../../../local/iam/collect-roles.ts';
import { evaluate } from '../../../local/iam/evaluate.ts';
import { mayAssume } from '../../../local/iam/may-assume.ts';
import { createResolver } from '../../../local/template/resolver.ts';
import type { Template } from '../../../local/template/template.ts';

const ROLE_ARN = 'arn:aws:iam::000000000000:role/Demo-Role';
const QUEUE_ARN = 'arn:aws:sqs:us-east-1:000000000000:jobs';

/** A template with one role, a queue and a database, and whatever else a test states. */
function templateWith(properties: Record<string, unknown>, more: Template['Resources'] = {}, rest: Partial<Template> = {}): Template {
  return {
    Resources: {
      Role: { Type: 'AWS::IAM::Role', Properties: properties },
      Jobs: { Type: 'AWS::SQS::Queue', Properties: { QueueName: 'jobs' } },
      Database: { Type: 'AWS::RDS::DBInstance' },
      ...more,
    },
    ...rest,
  };
}

function collect(template: Template, isNeeded?: (logicalId: string) => boolean) {
  const resolver = createResolver({ template, stackName: 'Demo', region: 'us-east-1', awsEndpointUrl: 'http://127.0.0.1:9' });
  return collectRoles(template, resolver, isNeeded);
}

const onlyRole = (template: Template) => collect(template).get(ROLE_ARN)!;
const sendTo = (Resource: unknown, rest: Record<string, unknown> = {}) => ({
  Effect: 'Allow',
  Action: 'sqs:SendMessage',
  Resource,
  ...rest,
});
const inline = (...Statement: unknown[]) => ({ Policies: [{ PolicyName: 'p', PolicyDocument: { Statement } }] });
const jobsArn = { 'Fn::GetAtt': ['Jobs', 'Arn'] };
const maySend = (template: Template) =>
  evaluate(onlyRole(template).statements, { action: 'sqs:SendMessage', resource: QUEUE_ARN }).decision === 'allowed';

describe('the statements of a role', () => {
  const document = { Statement: [sendTo(jobsArn)] };

  it.each<[string, Template]>([
    ['its inline policies', templateWith(inline(sendTo(jobsArn)))],
    ['a single statement that is not in a list', templateWith({ Policies: [{ PolicyDocument: { Statement: sendTo(jobsArn) } }] })],
    [
      'a policy attached to it',
      templateWith({}, { P: { Type: 'AWS::IAM::Policy', Properties: { PolicyDocument: document, Roles: [{ Ref: 'Role' }] } } }),
    ],
    [
      'a role policy of its own',
      templateWith({}, { P: { Type: 'AWS::IAM::RolePolicy', Properties: { PolicyDocument: document, RoleName: { Ref: 'Role' } } } }),
    ],
    [
      'a managed policy that lists it',
      templateWith({}, { P: { Type: 'AWS::IAM::ManagedPolicy', Properties: { PolicyDocument: document, Roles: [{ Ref: 'Role' }] } } }),
    ],
    [
      'a managed policy that it lists',
      templateWith(
        { ManagedPolicyArns: [{ Ref: 'P' }] },
        { P: { Type: 'AWS::IAM::ManagedPolicy', Properties: { PolicyDocument: document } } },
      ),
    ],
    [
      'a statement chosen by a condition',
      templateWith(
        inline({ 'Fn::If': ['Yes', sendTo(jobsArn), { Ref: 'AWS::NoValue' }] }),
        {},
        { Conditions: { Yes: { 'Fn::Equals': [1, 1] } } },
      ),
    ],
    [
      'a policy chosen by a condition',
      templateWith(
        { Policies: [{ 'Fn::If': ['Yes', { PolicyDocument: document }, { Ref: 'AWS::NoValue' }] }] },
        {},
        { Conditions: { Yes: { 'Fn::Equals': [1, 1] } } },
      ),
    ],
  ])('come from %s', (_, template) => {
    expect(maySend(template)).toBe(true);
  });

  it('do not come from a policy of another role, or from one that a condition leaves out', () => {
    const properties = { PolicyDocument: document, Roles: ['Somebody'] };
    expect(maySend(templateWith({}, { P: { Type: 'AWS::IAM::Policy', Properties: properties } }))).toBe(false);
    const absent = { Type: 'AWS::IAM::Policy', Condition: 'No', Properties: { PolicyDocument: document, Roles: [{ Ref: 'Role' }] } };
    expect(maySend(templateWith({}, { P: absent }, { Conditions: { No: { 'Fn::Equals': [1, 2] } } }))).toBe(false);
  });

  it('come from the managed policies of AWS that functions use', () => {
    const names = [
      'service-role/AWSLambdaBasicExecutionRole',
      'service-role/AWSLambdaVPCAccessExecutionRole',
      'service-role/AWSLambdaSQSQueueExecutionRole',
      'AWSXRayDaemonWriteAccess',
    ];
    const { statements } = onlyRole(
      templateWith({ ManagedPolicyArns: names.map((name) => ({ 'Fn::Sub': `arn:\${AWS::Partition}:iam::aws:policy/${name}` })) }),
    );
    const allowed = (action: string) => evaluate(statements, { action, resource: QUEUE_ARN }).decision === 'allowed';
    expect(
      ['logs:PutLogEvents', 'ec2:CreateNetworkInterface', 'sqs:ReceiveMessage', 'xray:PutTraceSegments', 'sqs:SendMessage'].map(allowed),
    ).toEqual([true, true, true, true, false]);
  });

  it('refuse a managed policy whose contents are not known', () => {
    const template = templateWith({ ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] });
    expect(() => collect(template)).toThrow(
      /role 'Role' has the managed policy 'arn:aws:iam::aws:policy\/AdministratorAccess'.*not known locally/,
    );
  });

  it('leave out, and report, a permission on a resource that is not emulated, but keep what stands beside it', () => {
    const template = templateWith(inline(sendTo([{ 'Fn::GetAtt': ['Database', 'DbiResourceId'] }, jobsArn])));
    expect(maySend(template)).toBe(true);
    expect(onlyRole(template).unchecked).toEqual([expect.stringMatching(/a permission is left out: .*'DbiResourceId' of 'Database'/)]);
  });

  it('never leave out a deny', () => {
    const template = templateWith(inline(sendTo({ 'Fn::GetAtt': ['Database', 'DbiResourceId'] }, { Effect: 'Deny' })));
    expect(() => collect(template)).toThrow(/'DbiResourceId' of 'Database'/);
  });

  it('report a permissions boundary, which is not applied', () => {
    expect(onlyRole(templateWith({ PermissionsBoundary: 'arn:x' })).unchecked).toEqual([
      expect.stringMatching(/permissions boundary of role 'Role'/),
    ]);
  });

  it('are not read for a role that nothing needs', () => {
    const template = templateWith({ ManagedPolicyArns: ['arn:aws:iam::aws:policy/AdministratorAccess'] });
    expect(collect(template, (logicalId) => logicalId !== 'Role').size).toBe(0);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    [
      'a condition that cannot be decided',
      { Sid: 'Only', Condition: { StringLike: { 'aws:PrincipalTag/team': 'x' } } },
      /role 'Role'.*statement 'Only', has the condition StringLike on aws:PrincipalTag\/team/,
    ],
    [
      'an unknown key of a known operator',
      { Condition: { StringEquals: { 'sqs:Something': 'x' } } },
      /statement on sqs:SendMessage, has the condition StringEquals on sqs:Something/,
    ],
    [
      'an undecidable condition next to a false one',
      { Condition: { Bool: { 'aws:SecureTransport': false }, Null: { 'a:b': true } } },
      /condition Null on a:b/,
    ],
    ['an unknown effect', { Effect: 'Perhaps' }, /effect "Perhaps": use Allow or Deny/],
    ['a principal', { Principal: '*' }, /has 'Principal'/],
    ['a missing resource', { Resource: { Ref: 'AWS::NoValue' } }, /must have either Resource or NotResource/],
    ['both an action and its opposite', { NotAction: 'a:b' }, /must have either Action or NotAction/],
    ['a policy variable', { Resource: 'arn:aws:s3:::home/${aws:username}' }, /policy variable in 'arn:aws:s3:::home\/\$\{aws:username\}'/],
    ['an action that is no text', { Action: [1] }, /has Action 1: it must be text/],
  ])('refuse %s', (_, rest, message) => {
    expect(() => collect(templateWith(inline(sendTo('*', rest))))).toThrow(message);
  });

  it.each<[string, unknown, boolean]>([
    ['the account of the resource is ours', { StringEquals: { 'aws:ResourceAccount': { Ref: 'AWS::AccountId' } } }, true],
    ['one of several accounts is ours', { StringEquals: { 'AWS:SourceAccount': ['1', '000000000000'] } }, true],
    ['the account is another', { StringEquals: { 'aws:ResourceAccount': '111111111111' } }, false],
    ['the connection must be encrypted', { Bool: { 'aws:SecureTransport': 'true' } }, true],
    ['the connection must not be encrypted', { Bool: { 'aws:SecureTransport': false } }, false],
    [
      'one of two conditions is false',
      { StringEquals: { 'aws:ResourceAccount': '000000000000' }, Bool: { 'aws:SecureTransport': false } },
      false,
    ],
  ])('apply, under the condition that %s: %j → %s', (_, Condition, expected) => {
    expect(maySend(templateWith(inline(sendTo('*', { Condition }))))).toBe(expected);
  });
});

describe('a role', () => {
  const trust = (...Statement: unknown[]) => onlyRole(templateWith({ AssumeRolePolicyDocument: { Statement } }));
  const service = (Service: unknown, rest: Record<string, unknown> = {}) => ({
    Effect: 'Allow',
    Action: 'sts:AssumeRole',
    Principal: { Service },
    ...rest,
  });
  const group = 'arn:aws:scheduler:us-east-1:000000000000:schedule-group/g';
  const forGroup = { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' }, 'aws:SourceArn': group } };

  it('may be assumed by the services that its trust policy names, and by no other', () => {
    expect(mayAssume(trust(service('lambda.amazonaws.com')), 'lambda.amazonaws.com')).toBe(true);
    expect(mayAssume(trust(service(['a.amazonaws.com', 'lambda.amazonaws.com'])), 'lambda.amazonaws.com')).toBe(true);
    expect(mayAssume(trust(service('lambda.amazonaws.com')), 'scheduler.amazonaws.com')).toBe(false);
    expect(mayAssume(trust(service('lambda.amazonaws.com', { Action: 'sts:TagSession' })), 'lambda.amazonaws.com')).toBe(false);
    expect(mayAssume(trust({ ...service('x'), Principal: { AWS: '*' } }), 'lambda.amazonaws.com')).toBe(false);
    expect(mayAssume(onlyRole(templateWith({})), 'lambda.amazonaws.com')).toBe(false);
  });

  it('may not be assumed by a service that is denied, whatever else is said', () => {
    const role = trust(service('lambda.amazonaws.com', { Effect: 'Deny' }), service('lambda.amazonaws.com'));
    expect(mayAssume(role, 'lambda.amazonaws.com')).toBe(false);
  });

  it('that is for one schedule group may be assumed on behalf of that group only', () => {
    const role = trust(service('scheduler.amazonaws.com', { Condition: forGroup }));
    const asks = (sourceArn?: string, sourceAccount?: string) => mayAssume(role, 'scheduler.amazonaws.com', { sourceArn, sourceAccount });
    expect([
      asks(group, '000000000000'),
      asks(`${group}2`, '000000000000'),
      asks(group, '1'),
      asks(undefined, '000000000000'),
      asks(),
    ]).toEqual([true, false, false, false, false]);
  });

  it('whose trust depends on what cannot be decided is refused, but only when it matters', () => {
    const role = trust(
      service('lambda.amazonaws.com'),
      service('scheduler.amazonaws.com', { Condition: { ArnLike: { 'aws:SourceArn': '*' } } }),
    );
    expect(mayAssume(role, 'lambda.amazonaws.com')).toBe(true);
    expect(() => mayAssume(role, 'scheduler.amazonaws.com')).toThrow(
      /trust policy of role 'Role' has the condition ArnLike on aws:SourceArn/,
    );
  });
});
