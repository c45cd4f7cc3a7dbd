import { CreateQueueCommand, GetQueueUrlCommand, QueueDoesNotExist, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { buildApp } from 'fauxqs';
import { openStores } from './open-stores.ts';
import { returnUndelivered } from './return-undelivered.ts';

const REGION = 'us-east-1';
const ACCOUNT_ID = '000000000000';

export interface EmbeddedSqsOptions {
  /** Queues and messages are kept here; without it they live as long as the process. One process at a time. */
  dataDirectory?: string;
  /** 0, the default, takes a free port. */
  port?: number;
}

export interface QueueDefinition {
  name: string;
  /** The attributes of `AWS::SQS::Queue`, as the strings that SQS takes; `RedrivePolicy` is JSON. */
  attributes: Record<string, string>;
}

export interface EmbeddedQueue {
  queueUrl: string;
  queueArn: string;
}

export interface EmbeddedSqs {
  url: string;
  createQueue(definition: QueueDefinition): Promise<EmbeddedQueue>;
  close(): Promise<void>;
}

/** What a queue has when its definition is silent. Stated on every update, because a property that left the template goes back to its default. */
const DEFAULT_ATTRIBUTES: Record<string, string> = {
  VisibilityTimeout: '30',
  DelaySeconds: '0',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  RedrivePolicy: '',
};

/** Chosen once, at creation: the emulator refuses to set them later. */
const FIXED_AT_CREATION = new Set(['DeduplicationScope', 'FifoThroughputLimit']);

/**
 * SQS on the laptop, for one process tree: it listens on the loopback interface only, because it checks no signature. What a caller may do is checked by
 * whatever stands in front of it. Messages survive kill -9 when a data directory is given; `MessageRetentionPeriod` is stored but nothing expires.
 */
export async function startEmbeddedSqs({ dataDirectory, port = 0 }: EmbeddedSqsOptions = {}): Promise<EmbeddedSqs> {
  const { stores, close: closeStores } = await openStores(dataDirectory);
  const app = buildApp({ logger: false, defaultRegion: REGION, stores });
  returnUndelivered(app, stores);
  let url: string;
  try {
    url = await app.listen({ host: '127.0.0.1', port });
  } catch (error) {
    closeStores();
    throw error;
  }
  const client = new SQSClient({ endpoint: url, region: REGION, credentials: { accessKeyId: 'embedded-sqs', secretAccessKey: 'unused' } });
  let closing: Promise<void> | undefined;

  return {
    url,
    async createQueue({ name, attributes }) {
      const queueUrl = `${url}/${ACCOUNT_ID}/${name}`;
      if (await queueExists(client, name)) {
        const settable = Object.entries({ ...DEFAULT_ATTRIBUTES, ...attributes }).filter(
          ([attribute]) => !FIXED_AT_CREATION.has(attribute),
        );
        await client.send(new SetQueueAttributesCommand({ QueueUrl: queueUrl, Attributes: Object.fromEntries(settable) }));
      } else {
        await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }));
      }
      return { queueUrl, queueArn: `arn:aws:sqs:${REGION}:${ACCOUNT_ID}:${name}` };
    },
    close() {
      closing ??= app.close().then(() => {
        client.destroy();
        closeStores();
      });
      return closing;
    },
  };
}

async function queueExists(client: SQSClient, name: string): Promise<boolean> {
  try {
    await client.send(new GetQueueUrlCommand({ QueueName: name }));
    return true;
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return false;
    throw error;
  }
}
