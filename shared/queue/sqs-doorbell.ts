import { SendMessageBatchCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { ExecutionId } from '../model/ids.ts';
import type { Logger } from '../observability/log.ts';
import { sdkLimits } from '../sdk-limits.ts';
import { requiredSetting } from '../settings.ts';
import { type Doorbell, type ExecutionBell, encodeExecutionBell } from './doorbell.ts';

const BATCH = 10;

/** A queue that accepts and stays silent must not hold an invocation whose work is already committed. */
const CLIENT = { useQueueUrlAsEndpoint: false, ...sdkLimits(5_000) };

/**
 * Rings over SQS. A failed send is logged and never raised: by then the database has committed, so the caller's work is
 * done, and the next manager cycle finds what was not rung.
 */
export function createSqsDoorbell(log: Logger, client = new SQSClient(CLIENT)): Doorbell {
  async function sendBatch(queueUrl: string, executionIds: ExecutionId[]): Promise<ExecutionId[]> {
    const Entries = executionIds.map((id) => ({ Id: String(id), MessageBody: encodeExecutionBell(id) }));
    try {
      const { Successful = [], Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }));
      for (const failure of Failed)
        log.warn('a bell was refused', { executionId: failure.Id, code: failure.Code, reason: failure.Message });
      return Successful.map(({ Id }) => Number(Id) as ExecutionId);
    } catch (error) {
      log.error('bells could not be rung', { queueUrl, executionIds, error });
      return [];
    }
  }

  async function poke(queueUrl: string, body: object, delaySeconds = 0): Promise<boolean> {
    try {
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify(body), DelaySeconds: delaySeconds }));
      return true;
    } catch (error) {
      log.error('a poke could not be sent', { queueUrl, error });
      return false;
    }
  }

  return {
    ringExecutions: async (bells) => (await Promise.all(batches(bells).map(({ queueUrl, ids }) => sendBatch(queueUrl, ids)))).flat(),
    pokeDispatcher: async ({ delaySeconds } = {}) => {
      await poke(requiredSetting('WAYBILL_DISPATCH_QUEUE_URL'), { v: 1 }, delaySeconds);
    },
    pokeManager: async ({ delaySeconds, generation } = {}) =>
      poke(requiredSetting('WAYBILL_WAKE_QUEUE_URL'), { v: 1, generation }, delaySeconds),
  };
}

/** Bells per queue, in the tens that SQS takes at once. */
function batches(bells: ExecutionBell[]): { queueUrl: string; ids: ExecutionId[] }[] {
  const byQueue = Map.groupBy(bells, ({ queueUrl }) => queueUrl);
  return [...byQueue].flatMap(([queueUrl, queued]) =>
    Array.from({ length: Math.ceil(queued.length / BATCH) }, (_, index) => ({
      queueUrl,
      ids: queued.slice(index * BATCH, (index + 1) * BATCH).map(({ executionId }) => executionId),
    })),
  );
}
