import type { Deployment } from './deployment.ts';

/** Properties of `AWS::SQS::Queue` that are attributes of the same name; the others do not change how a local queue behaves. */
const ATTRIBUTES = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MaximumMessageSize',
  'MessageRetentionPeriod',
  'ReceiveMessageWaitTimeSeconds',
  'FifoQueue',
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'FifoThroughputLimit',
];

export async function createQueue({ resolver, sqs }: Deployment, logicalId: string): Promise<void> {
  const { properties } = resolver.resolveResource(logicalId);
  const attributes = Object.fromEntries(
    ATTRIBUTES.flatMap((name) => (properties[name] === undefined ? [] : [[name, String(properties[name])]])),
  );
  if (properties.RedrivePolicy) attributes.RedrivePolicy = JSON.stringify(properties.RedrivePolicy);
  await sqs.createQueue({ name: String(resolver.attribute(logicalId, 'QueueName')), attributes });
}
