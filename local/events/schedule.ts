import { InvalidInputError, messageOf } from '../../shared/errors.ts';
import type { Invoke } from '../lambda/invocation.ts';
import { deliverScheduledEvent, type RetryPolicy } from './deliver-scheduled-event.ts';
import type { OnProblem } from './problem.ts';
import { type ScheduleClock, systemClock } from './schedule-clock.ts';
import { parseScheduleExpression } from './schedule-expression.ts';

export interface ScheduleOptions {
  name: string;
  /** `rate(5 minutes)` or `cron(0 2 * * ? *)`. */
  expression: string;
  /** For cron; UTC unless told. */
  timeZone?: string;
  state: 'ENABLED' | 'DISABLED';
  target: { invoke: Invoke; input: unknown; arn?: string };
  retryPolicy?: RetryPolicy;
  /** Takes what could not be delivered; without it such an occurrence is dropped, as in AWS, and reported. */
  sendToDeadLetterQueue?: (body: string, attributes: Record<string, string>) => Promise<void>;
  clock?: ScheduleClock;
  onProblem: OnProblem;
}

export interface Schedule {
  /** The next occurrence; undefined when the schedule is disabled, stopped or over. */
  readonly nextAt: Date | undefined;
  /** Starts nothing more, forgets waiting retries and resolves when the invocations under way have ended. */
  stop(): Promise<void>;
}

/**
 * One EventBridge Scheduler schedule. Each occurrence is its own delivery, so a slow invocation does not hold back the next occurrence. Occurrences that passed
 * while the machine slept collapse into one: the timer that is found late fires once, and the next occurrence is in the future.
 */
export function startSchedule(options: ScheduleOptions): Schedule {
  const { name, target, clock = systemClock, retryPolicy = {}, onProblem } = options;
  validateRetryPolicy(name, retryPolicy);
  const startedAt = clock.now();
  const nextAfter = parseScheduleExpression(options.expression, { timeZone: options.timeZone, startedAt });
  const stopping = new AbortController();
  const deliveries = new Set<Promise<void>>();
  let nextAt: Date | undefined;
  let cancelTimer = () => {};

  const deliver = async (scheduledAt: Date): Promise<void> => {
    const exhausted = await deliverScheduledEvent({
      scheduleArn: `arn:aws:scheduler:us-east-1:000000000000:schedule/default/${name}`,
      targetArn: target.arn ?? '',
      scheduledAt,
      invoke: target.invoke,
      input: target.input,
      retryPolicy,
      clock,
      signal: stopping.signal,
    });
    if (exhausted === undefined) return;
    onProblem({ source: name, message: exhausted.message });
    await options.sendToDeadLetterQueue?.(exhausted.body, exhausted.attributes);
  };

  const fire = (scheduledAt: Date): void => {
    const now = clock.now();
    arm(now > scheduledAt ? now : scheduledAt);
    const delivery = deliver(scheduledAt)
      .catch((error) => onProblem({ source: name, message: `a dead letter could not be sent, so it is lost: ${messageOf(error)}`, error }))
      .finally(() => deliveries.delete(delivery));
    deliveries.add(delivery);
  };

  const arm = (after: Date): void => {
    const at = nextAfter(after);
    nextAt = at;
    if (at !== undefined) cancelTimer = clock.setTimer(at, () => fire(at));
  };

  // The instant of the start itself is an occurrence of a rate.
  if (options.state === 'ENABLED') arm(new Date(startedAt.getTime() - 1));
  return {
    get nextAt() {
      return nextAt;
    },
    async stop() {
      stopping.abort();
      cancelTimer();
      nextAt = undefined;
      await Promise.all(deliveries);
    },
  };
}

function validateRetryPolicy(name: string, { maximumRetryAttempts = 185, maximumEventAgeInSeconds = 86_400 }: RetryPolicy): void {
  if (maximumRetryAttempts < 0 || maximumRetryAttempts > 185) {
    throw new InvalidInputError(
      'invalid_schedule',
      `schedule '${name}' has ${maximumRetryAttempts} maximum retry attempts: it must be 0-185`,
    );
  }
  if (maximumEventAgeInSeconds < 60 || maximumEventAgeInSeconds > 86_400) {
    throw new InvalidInputError(
      'invalid_schedule',
      `schedule '${name}' has a maximum event age of ${maximumEventAgeInSeconds} s: it must be 60-86400`,
    );
  }
}
