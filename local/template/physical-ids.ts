import { deriveToken, deriveUuid, fitName, secretArn } from './derived-ids.ts';

/** What `Ref` and `Fn::GetAtt` answer for one resource. */
export interface PhysicalId {
  ref: string;
  attributes: Record<string, string>;
}

/** A resource as the table below sees it: its surroundings, and its own properties, resolved one at a time so that names may not form a circle. */
export interface ResourceView {
  logicalId: string;
  stackName: string;
  account: string;
  region: string;
  awsEndpointUrl: string;
  httpApiUrl: string | undefined;
  property(name: string): string | undefined;
}

type Describe = (resource: ResourceView) => PhysicalId;

const generatedName = ({ stackName, logicalId }: ResourceView) => `${stackName}-${logicalId}`;

/** The name that the template states, else one that is the same at every start. */
function nameOf(resource: ResourceView, property: string, maximumLength: number, suffix = ''): string {
  return resource.property(property) ?? fitName(generatedName(resource), maximumLength - suffix.length) + suffix;
}

const arn = ({ region, account }: ResourceView, service: string, rest: string) => `arn:aws:${service}:${region}:${account}:${rest}`;
const fifoSuffix = (resource: ResourceView, property: string) => (resource.property(property) === 'true' ? '.fifo' : '');

/** `FunctionName` properties take a name or an ARN. */
function functionArn(resource: ResourceView): string {
  const name = resource.property('FunctionName') ?? '';
  return name.startsWith('arn:') ? name : arn(resource, 'lambda', `function:${name}`);
}

const unnamed: Describe = (resource) => ({ ref: generatedName(resource), attributes: {} });
const unnamedWithId: Describe = (resource) => ({ ref: generatedName(resource), attributes: { Id: generatedName(resource) } });
const shortId: Describe = (resource) => ({ ref: deriveToken(generatedName(resource), 7, 'lowerCase'), attributes: {} });

const table: Record<string, Describe> = {
  'AWS::SQS::Queue': (resource) => {
    const name = nameOf(resource, 'QueueName', 80, fifoSuffix(resource, 'FifoQueue'));
    const url = `${resource.awsEndpointUrl}/${resource.account}/${name}`;
    return { ref: url, attributes: { Arn: arn(resource, 'sqs', name), QueueName: name, QueueUrl: url } };
  },
  'AWS::SQS::QueuePolicy': unnamedWithId,
  'AWS::Lambda::Function': (resource) => {
    const name = nameOf(resource, 'FunctionName', 64);
    return { ref: name, attributes: { Arn: arn(resource, 'lambda', `function:${name}`) } };
  },
  'AWS::Lambda::Version': (resource) => ({ ref: `${functionArn(resource)}:1`, attributes: { Version: '1' } }),
  'AWS::Lambda::Alias': (resource) => {
    const alias = `${functionArn(resource)}:${nameOf(resource, 'Name', 128)}`;
    return { ref: alias, attributes: { AliasArn: alias } };
  },
  'AWS::Lambda::EventSourceMapping': (resource) => {
    const id = deriveUuid(generatedName(resource));
    return { ref: id, attributes: { Id: id, EventSourceMappingArn: arn(resource, 'lambda', `event-source-mapping:${id}`) } };
  },
  'AWS::Lambda::Permission': unnamedWithId,
  'AWS::IAM::Role': (resource) => {
    const name = nameOf(resource, 'RoleName', 64);
    const path = resource.property('Path') ?? '/';
    return {
      ref: name,
      attributes: {
        Arn: `arn:aws:iam::${resource.account}:role${path}${name}`,
        RoleId: `AROA${deriveToken(generatedName(resource), 17, 'upperCase')}`,
      },
    };
  },
  'AWS::IAM::Policy': unnamedWithId,
  'AWS::IAM::ManagedPolicy': (resource) => {
    const path = resource.property('Path') ?? '/';
    const policyArn = `arn:aws:iam::${resource.account}:policy${path}${nameOf(resource, 'ManagedPolicyName', 128)}`;
    return { ref: policyArn, attributes: { PolicyArn: policyArn } };
  },
  'AWS::SecretsManager::Secret': (resource) => {
    const secret = secretArn({ ...resource, name: nameOf(resource, 'Name', 512) });
    return { ref: secret, attributes: { Id: secret } };
  },
  'AWS::SecretsManager::SecretTargetAttachment': (resource) => ({ ref: resource.property('SecretId') ?? '', attributes: {} }),
  'AWS::Logs::LogGroup': (resource) => {
    const name = nameOf(resource, 'LogGroupName', 512);
    return { ref: name, attributes: { Arn: arn(resource, 'logs', `log-group:${name}:*`) } };
  },
  'AWS::ApiGatewayV2::Api': (resource) => {
    const id = deriveToken(generatedName(resource), 10, 'lowerCase');
    // Without a local address there is no answer: AWS's would send a developer's requests out to the internet.
    return { ref: id, attributes: { ApiId: id, ...(resource.httpApiUrl === undefined ? {} : { ApiEndpoint: resource.httpApiUrl }) } };
  },
  'AWS::ApiGatewayV2::Route': shortId,
  'AWS::ApiGatewayV2::Integration': shortId,
  'AWS::ApiGatewayV2::Stage': (resource) => ({ ref: nameOf(resource, 'StageName', 128), attributes: {} }),
  'AWS::Scheduler::Schedule': (resource) => {
    const name = nameOf(resource, 'Name', 64);
    const group = resource.property('GroupName') ?? 'default';
    return { ref: name, attributes: { Arn: arn(resource, 'scheduler', `schedule/${group}/${name}`) } };
  },
  'AWS::Scheduler::ScheduleGroup': (resource) => {
    const name = nameOf(resource, 'Name', 64);
    return { ref: name, attributes: { Arn: arn(resource, 'scheduler', `schedule-group/${name}`) } };
  },
  'AWS::SNS::Topic': (resource) => {
    const name = nameOf(resource, 'TopicName', 256, fifoSuffix(resource, 'FifoTopic'));
    const topic = arn(resource, 'sns', name);
    return { ref: topic, attributes: { TopicArn: topic, TopicName: name } };
  },
  'AWS::S3::Bucket': (resource) => {
    const name = resource.property('BucketName') ?? fitName(generatedName(resource).toLowerCase(), 63);
    return { ref: name, attributes: { Arn: `arn:aws:s3:::${name}` } };
  },
  'AWS::KMS::Key': (resource) => {
    const id = deriveUuid(generatedName(resource));
    return { ref: id, attributes: { Arn: arn(resource, 'kms', `key/${id}`), KeyId: id } };
  },
  'AWS::CloudWatch::Alarm': (resource) => {
    const name = nameOf(resource, 'AlarmName', 255);
    return { ref: name, attributes: { Arn: arn(resource, 'cloudwatch', `alarm:${name}`) } };
  },
  'AWS::CloudWatch::Dashboard': (resource) => ({ ref: nameOf(resource, 'DashboardName', 255), attributes: {} }),
  'Custom::Trigger': unnamed,
  'AWS::CDK::Metadata': unnamed,
};

/** Whether the attributes of this type of resource are known here at all. */
export function isListedType(type: string): boolean {
  return Object.hasOwn(table, type);
}

/** The identity of a resource. One of an unlisted type has a name, so that it may be mentioned, and no attributes. */
export function describePhysicalId(type: string, resource: ResourceView): PhysicalId {
  return isListedType(type) ? table[type]!(resource) : unnamed(resource);
}
