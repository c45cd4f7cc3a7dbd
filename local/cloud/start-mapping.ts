import { startEventSourceMapping } from '../events/event-source-mapping.ts';
import { ACCOUNT, type Deployment, functionByArn, REGION } from './deployment.ts';

interface MappingProperties {
  EventSourceArn: string;
  FunctionName: string;
  BatchSize?: number;
  MaximumBatchingWindowInSeconds?: number;
  FunctionResponseTypes?: string[];
  ScalingConfig?: { MaximumConcurrency?: number };
  Enabled?: boolean;
}

/** Polls under the function's own role, as Lambda does. */
export function startMapping(deployment: Deployment, logicalId: string): void {
  const { resolver, awsEndpointUrl, onProblem } = deployment;
  const properties = resolver.resolveResource(logicalId).properties as unknown as MappingProperties;
  if (properties.Enabled === false) return;
  const { EventSourceArn: queueArn, FunctionName: name } = properties;
  if (queueArn.split(':')[2] !== 'sqs') throw new Error(`${logicalId} reads from '${queueArn}': only SQS event sources run locally`);
  const arn = name.startsWith('arn:') ? name : `arn:aws:lambda:${REGION}:${ACCOUNT}:function:${name}`;
  const { lambda, settings, displayName } = functionByArn(deployment, arn, logicalId);
  const mapping = startEventSourceMapping({
    name: displayName,
    queueUrl: `${awsEndpointUrl}/${ACCOUNT}/${queueArn.split(':').at(-1)}`,
    queueArn,
    client: { endpoint: awsEndpointUrl, accessKeyId: settings.accessKeyId },
    region: REGION,
    batchSize: properties.BatchSize ?? 10,
    maximumBatchingWindowSeconds: properties.MaximumBatchingWindowInSeconds ?? 0,
    maximumConcurrency: properties.ScalingConfig?.MaximumConcurrency,
    reportBatchItemFailures: properties.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
    invoke: (event) => lambda.invoke(event),
    onProblem,
  });
  deployment.sources.push(mapping);
}
