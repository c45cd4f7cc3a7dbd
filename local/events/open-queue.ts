import { DeleteMessageBatchCommand, GetQueueAttributesCommand, type Message, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';

const DELETE_BATCH_SIZE = 10;

export interface QueueAddress {
  queueUrl: string;
  region: string;
  /** The endpoint, and the access key of the *function*: Lambda polls with the function's role, so a missing grant shows here as it would in AWS. */
  client: { endpoint: string; accessKeyId: string };
}

export interface OpenQueue {
  receive(maximumMessages: number, waitSeconds: number): Promise<Message[]>;
  remove(receiptHandles: string[]): Promise<void>;
  readVisibilityTimeoutSeconds(): Promise<number>;
  close(): void;
}

/** The three things that a poller does to its queue. The signal ends a receive, never a removal: what was processed should still be deleted. */
export function openQueue({ queueUrl, region, client: { endpoint, accessKeyId } }: QueueAddress, signal: AbortSignal): OpenQueue {
  const client = new SQSClient({ endpoint, region, credentials: { accessKeyId, secretAccessKey: 'local' } });
  return {
    async receive(maximumMessages, waitSeconds) {
      const command = new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: maximumMessages,
        WaitTimeSeconds: waitSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
      });
      const { Messages } = await client.send(command, { abortSignal: signal });
      return Messages ?? [];
    },
    async remove(receiptHandles) {
      for (let start = 0; start < receiptHandles.length; start += DELETE_BATCH_SIZE) {
        const handles = receiptHandles.slice(start, start + DELETE_BATCH_SIZE);
        const entries = handles.map((ReceiptHandle, index) => ({ Id: String(index), ReceiptHandle }));
        const { Failed } = await client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));
        if (Failed?.length) throw new Error(Failed.map(({ Message, Code }) => Message ?? Code).join('; '));
      }
    },
    async readVisibilityTimeoutSeconds() {
      const command = new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['VisibilityTimeout'] });
      const { Attributes } = await client.send(command, { abortSignal: signal });
      return Number(Attributes?.VisibilityTimeout ?? 30);
    },
    close: () => client.destroy(),
  };
}

export function isAccessDenied(error: unknown): boolean {
  const { name, $metadata } = (error ?? {}) as { name?: string; $metadata?: { httpStatusCode?: number } };
  return name === 'AccessDenied' || name === 'AccessDeniedException' || $metadata?.httpStatusCode === 403;
}
