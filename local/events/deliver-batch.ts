import type { SQSRecord } from 'aws-lambda';
import type { InvocationResult, Invoke } from '../lambda/invocation.ts';
import { createBackoff } from './backoff.ts';
import { readBatchResponse } from './batch-response.ts';
import type { ProblemLatch } from './problem.ts';

export interface Delivery {
  invoke: Invoke;
  reportBatchItemFailures: boolean;
  /** When the messages become visible to others, in milliseconds; after that it is too late to invoke. */
  visibilityEndsAt: number;
  signal: AbortSignal;
  problems: ProblemLatch;
}

/**
 * Invokes the function with one batch and returns the records that may be deleted. The others are left alone: the queue's visibility timeout brings them back,
 * and its redrive policy counts.
 */
export async function deliverBatch(records: SQSRecord[], delivery: Delivery): Promise<SQSRecord[]> {
  const result = await invokeUnlessThrottled({ Records: records }, delivery);
  if (result.status !== 'succeeded') return [];
  if (!delivery.reportBatchItemFailures) return records;

  const response = readBatchResponse(result.payload, new Set(records.map(({ messageId }) => messageId)));
  if (response.isValid) {
    delivery.problems.clear('response');
    return records.filter(({ messageId }) => !response.failedIds.has(messageId));
  }
  delivery.problems.report(
    'response',
    `the function's batch response is malformed, so the whole batch is delivered again: ${response.reason}`,
  );
  return [];
}

/**
 * A throttled batch is tried again, ever more slowly, until its messages become visible to others; then it is dropped and they return by themselves. That is
 * what AWS does: making them visible at once would count another receive against the redrive policy for each refusal, and fill the dead letters.
 */
async function invokeUnlessThrottled(event: unknown, { invoke, visibilityEndsAt, signal }: Delivery): Promise<InvocationResult> {
  const backoff = createBackoff(signal);
  while (true) {
    if (signal.aborted) return { status: 'throttled' };
    const result = await invoke(event);
    if (result.status !== 'throttled') return result;
    await backoff.wait({ atMostMs: visibilityEndsAt - Date.now() });
    if (Date.now() >= visibilityEndsAt) return result;
  }
}
