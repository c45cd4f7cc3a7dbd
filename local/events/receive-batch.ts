import type { Message } from '@aws-sdk/client-sqs';

/** SQS hands out at most this many messages, and waits at most this long, per request. */
const MAXIMUM_MESSAGES = 10;
const MAXIMUM_WAIT_SECONDS = 20;

export type Receive = (maximumMessages: number, waitSeconds: number) => Promise<Message[]>;

export interface BatchLimits {
  batchSize: number;
  maximumBatchingWindowSeconds: number;
}

/**
 * Waits for a first message, then gathers more until the batch is full or the window, which the first message opened, is over. SQS waits whole seconds, so the
 * window is kept to half a second. Empty when nothing came within one long poll.
 *
 * A request that fails after something was received ends the gathering, not the batch: what is here is delivered, and the next poll meets the error.
 */
export async function receiveBatch(
  receive: Receive,
  { batchSize, maximumBatchingWindowSeconds }: BatchLimits,
  signal: AbortSignal,
): Promise<Message[]> {
  const messages = await receive(Math.min(MAXIMUM_MESSAGES, batchSize), MAXIMUM_WAIT_SECONDS);
  const windowEndsAt = Date.now() + maximumBatchingWindowSeconds * 1000;
  while (messages.length > 0 && messages.length < batchSize && !signal.aborted) {
    const waitSeconds = Math.min(MAXIMUM_WAIT_SECONDS, Math.round((windowEndsAt - Date.now()) / 1000));
    if (waitSeconds < 1) break;
    const more = await receive(Math.min(MAXIMUM_MESSAGES, batchSize - messages.length), waitSeconds).catch(() => undefined);
    if (more === undefined) break;
    messages.push(...more);
  }
  return messages;
}
