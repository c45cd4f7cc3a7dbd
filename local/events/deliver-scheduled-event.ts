import { randomUUID } from 'node:crypto';
import { messageOf } from '../../shared/errors.ts';
import type { InvocationResult, Invoke } from '../lambda/invocation.ts';
import { type ScheduleClock, waitUntil } from './schedule-clock.ts';
import { buildScheduledEvent, formatInstant } from './scheduled-event.ts';

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 600_000;

export interface RetryPolicy {
  /** 0 to 185, which is the default. */
  maximumRetryAttempts?: number;
  /** 60 to 86,400, which is the default. */
  maximumEventAgeInSeconds?: number;
}

export interface ScheduledDelivery {
  scheduleArn: string;
  targetArn: string;
  scheduledAt: Date;
  invoke: Invoke;
  input: unknown;
  retryPolicy: RetryPolicy;
  clock: ScheduleClock;
  signal: AbortSignal;
}

export interface ExhaustedDelivery {
  message: string;
  /** The body and the message attributes of the dead letter. */
  body: string;
  attributes: Record<string, string>;
}

/**
 * Delivers one occurrence, again and again with growing pauses while the function fails or is throttled. Undefined when it was delivered or the schedule was
 * stopped; otherwise what the dead-letter queue should learn.
 *
 * Retries live in this process: killed while it waits, an occurrence is forgotten, which AWS would not do. The next occurrence comes, and what was acknowledged
 * is in the database.
 */
export async function deliverScheduledEvent(delivery: ScheduledDelivery): Promise<ExhaustedDelivery | undefined> {
  const { scheduledAt, scheduleArn, clock, signal, retryPolicy } = delivery;
  const { maximumRetryAttempts = 185, maximumEventAgeInSeconds = 86_400 } = retryPolicy;
  const givesUpAt = scheduledAt.getTime() + maximumEventAgeInSeconds * 1000;
  for (let attempt = 1; !signal.aborted; attempt++) {
    const executionId = randomUUID();
    const event = buildScheduledEvent(delivery.input, { scheduleArn, scheduledAt, executionId, attempt });
    const result = await invokeSafely(delivery.invoke, event);
    if (result.status === 'succeeded') return undefined;
    const retryAt = clock.now().getTime() + Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS);
    const isWornOut = attempt > maximumRetryAttempts;
    if (isWornOut || retryAt > givesUpAt) {
      const exhausted = isWornOut ? 'MaximumRetryAttempts' : 'MaximumEventAgeInSeconds';
      return describeExhausted(delivery, { event, executionId, retryCount: attempt - 1, exhausted, result });
    }
    if (!(await waitUntil(clock, new Date(retryAt), signal))) return undefined;
  }
  return undefined;
}

interface LastAttempt {
  event: unknown;
  executionId: string;
  retryCount: number;
  exhausted: string;
  result: Exclude<InvocationResult, { status: 'succeeded' }>;
}

function describeExhausted(
  delivery: ScheduledDelivery,
  { event, executionId, retryCount, exhausted, result }: LastAttempt,
): ExhaustedDelivery {
  const error = result.status === 'failed' ? result.error : { errorType: 'TooManyRequestsException', errorMessage: 'Rate Exceeded.' };
  return {
    message: `the occurrence of ${formatInstant(delivery.scheduledAt)} was not delivered after ${retryCount} retries (${exhausted}): ${error.errorType}: ${error.errorMessage}`,
    body: JSON.stringify(event),
    attributes: {
      ERROR_CODE: error.errorType,
      ERROR_MESSAGE: error.errorMessage,
      EXECUTION_ID: executionId,
      EXHAUSTED_RETRY_CONDITION: exhausted,
      IS_PAYLOAD_TRUNCATED: 'false',
      RETRY_ATTEMPTS: String(retryCount),
      SCHEDULED_TIME: formatInstant(delivery.scheduledAt),
      SCHEDULE_ARN: delivery.scheduleArn,
      TARGET_ARN: delivery.targetArn,
    },
  };
}

async function invokeSafely(invoke: Invoke, event: unknown): Promise<InvocationResult> {
  try {
    return await invoke(event);
  } catch (error) {
    return { status: 'failed', error: { errorType: 'InvocationError', errorMessage: messageOf(error) } };
  }
}
