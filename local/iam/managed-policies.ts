import type { Statement } from './evaluate.ts';

const writeLogs: Statement = {
  Effect: 'Allow',
  Action: ['logs:CreateLogGroup', 'logs:CreateLogStream', 'logs:PutLogEvents'],
  Resource: '*',
};

/** The AWS managed policies that functions commonly carry, by the part of their ARN after `policy/`. */
const statementsByPolicy = new Map<string, Statement[]>([
  ['service-role/AWSLambdaBasicExecutionRole', [writeLogs]],
  [
    'service-role/AWSLambdaVPCAccessExecutionRole',
    [
      writeLogs,
      {
        Effect: 'Allow',
        Action: [
          'ec2:CreateNetworkInterface',
          'ec2:DescribeNetworkInterfaces',
          'ec2:DescribeSubnets',
          'ec2:DeleteNetworkInterface',
          'ec2:AssignPrivateIpAddresses',
          'ec2:UnassignPrivateIpAddresses',
        ],
        Resource: '*',
      },
    ],
  ],
  [
    'service-role/AWSLambdaSQSQueueExecutionRole',
    [writeLogs, { Effect: 'Allow', Action: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], Resource: '*' }],
  ],
  [
    'AWSXRayDaemonWriteAccess',
    [
      {
        Effect: 'Allow',
        Action: [
          'xray:PutTraceSegments',
          'xray:PutTelemetryRecords',
          'xray:GetSamplingRules',
          'xray:GetSamplingTargets',
          'xray:GetSamplingStatisticSummaries',
        ],
        Resource: '*',
      },
    ],
  ],
]);

/** The statements of an AWS managed policy, or undefined if its contents are not known here. */
export function managedPolicyStatements(policyArn: string): Statement[] | undefined {
  const [, name] = /^arn:aws:iam::aws:policy\/(.+)$/.exec(policyArn) ?? [];
  return name === undefined ? undefined : statementsByPolicy.get(name);
}

export const knownManagedPolicies: string[] = [...statementsByPolicy.keys()];
