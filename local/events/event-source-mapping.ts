import type { Message } from '@aws-sdk/client-sqs';
import { InvalidInputError, messageOf } from '../../shared/errors.ts';
import type { Invoke } from '../lambda/invocation.ts';
import { createBackoff } from './backoff.ts';
import { deliverBatch } from './deliver-batch.ts';
import { isAccessDenied, openQueue, type QueueAddress } from './open-queue.ts';
import { latchProblems, type OnProblem } from './problem.ts';
import { receiveBatch } from './receive-batch.ts';
import { splitBatch } from './split-batch.ts';
import { toSqsRecord } from './sqs-record.ts';

/** A laptop has few cores; AWS would start with five and grow. */
const DEFAULT_CONCURRENCY = 5;

export interface EventSourceMappingOptions extends QueueAddress {
  name: string;
  queueArn: string;
  /** 1 to 10,000; more than ten needs a batching window. */
  batchSize: number;
  /** 0 to 300. */
  maximumBatchingWindowSeconds: number;
  /** Invocations at one time. */
  maximumConcurrency?: number;
  /** Whether the function names the messages that failed; if not, its answer is ignored. */
  reportBatchItemFailures: boolean;
  invoke: Invoke;
  onProblem: OnProblem;
}

export interface EventSourceMapping {
  /** Ends the polling at once and resolves when the invocations under way have ended and their messages are deleted. */
  stop(): Promise<void>;
}

/**
 * Lambda's poller for one queue and one function. One loop receives and fans out, because the emulator is bound by the processor and more pollers do not help;
 * it receives only when an invocation may start, because a message that waits here eats its visibility timeout.
 *
 * Nothing is kept here. Killed before the function ran, while it ran, or before the messages were deleted, the messages become visible again and are delivered
 * once more: at least once, as in AWS. `stop` while a batch is being gathered leaves its messages to the visibility timeout too.
 */
export function startEventSourceMapping(options: EventSourceMappingOptions): EventSourceMapping {
  validate(options);
  const { name, queueArn, region, invoke, reportBatchItemFailures, maximumConcurrency = DEFAULT_CONCURRENCY } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const queue = openQueue(options, signal);
  const problems = latchProblems(name, options.onProblem);
  const invocations = new Set<Promise<void>>();

  /** Repeats a request until it works or the mapping is stopped. What a role forbids changes only when somebody changes it, so that is asked slowly. */
  const untilItWorks = async <Answer>(request: () => Promise<Answer>): Promise<Answer | undefined> => {
    const backoff = createBackoff(signal);
    while (!signal.aborted) {
      try {
        const answer = await request();
        problems.clear('poll');
        return answer;
      } catch (error) {
        if (signal.aborted) break;
        problems.report('poll', `cannot poll ${queueArn}: ${explain(error)}`, error);
        await backoff.wait({ slowly: isAccessDenied(error) });
      }
    }
    return undefined;
  };

  /** A failed deletion is left at that: the messages come back, and the function must bear a second delivery anyway. */
  const deliver = async (messages: Message[], visibilityEndsAt: number): Promise<void> => {
    for (const batch of splitBatch(messages.map((message) => toSqsRecord(message, { queueArn, region })))) {
      const done = await deliverBatch(batch, { invoke, reportBatchItemFailures, visibilityEndsAt, signal, problems });
      await queue.remove(done.map(({ receiptHandle }) => receiptHandle));
    }
    problems.clear('deliver');
  };

  const poll = async (): Promise<void> => {
    // AWS looks at the role when a mapping is created; this request does it here, before the first message.
    const visibilityTimeoutSeconds = await untilItWorks(queue.readVisibilityTimeoutSeconds);
    while (visibilityTimeoutSeconds !== undefined && !signal.aborted) {
      if (invocations.size >= maximumConcurrency) {
        await Promise.race(invocations);
        continue;
      }
      const messages = await untilItWorks(() => receiveBatch(queue.receive, options, signal));
      if (!messages?.length || signal.aborted) continue;
      const invocation = deliver(messages, Date.now() + visibilityTimeoutSeconds * 1000)
        .catch((error) => problems.report('deliver', `messages of ${queueArn} will be delivered again: ${explain(error)}`, error))
        .finally(() => invocations.delete(invocation));
      invocations.add(invocation);
    }
  };

  const polling = poll();
  return {
    async stop() {
      stopping.abort();
      await polling;
      await Promise.all(invocations);
      queue.close();
    },
  };
}

function validate({ name, batchSize, maximumBatchingWindowSeconds: window, maximumConcurrency = 1 }: EventSourceMappingOptions): void {
  const refuse = (message: string) => {
    throw new InvalidInputError('invalid_event_source_mapping', `event source mapping '${name}': ${message}`);
  };
  const isWithin = (value: number, minimum: number, maximum: number) => Number.isInteger(value) && value >= minimum && value <= maximum;
  if (!isWithin(batchSize, 1, 10_000)) refuse(`batch size ${batchSize} is invalid: it must be 1-10000`);
  if (!isWithin(window, 0, 300)) refuse(`batching window ${window} is invalid: it must be 0-300 seconds`);
  if (batchSize > 10 && window < 1)
    refuse(`batch size ${batchSize} needs a batching window: set it to at least 1 second, or the size to at most 10`);
  if (!isWithin(maximumConcurrency, 1, 1000)) refuse(`maximum concurrency ${maximumConcurrency} is invalid: it must be 1-1000`);
}

function explain(error: unknown): string {
  if (!isAccessDenied(error)) return messageOf(error);
  return `access denied: ${messageOf(error)}. Grant the function's role sqs:ReceiveMessage, sqs:DeleteMessage and sqs:GetQueueAttributes on the queue`;
}
