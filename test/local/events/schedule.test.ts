import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Problem } from '../../../local/events/problem.ts';
import { type Schedule, type ScheduleOptions, startSchedule } from '../../../local/events/schedule.ts';
import { systemClock } from '../../../local/events/schedule-clock.ts';
import type { InvocationResult } from '../../../local/lambda/invocation.ts';
import { createManualClock } from './manual-clock.ts';

const SUCCESS: InvocationResult = { status: 'succeeded', payload: null };
const FAILURE: InvocationResult = { status: 'failed', error: { errorType: 'TypeError', errorMessage: 'boom' } };
const SCHEDULE_ARN = 'arn:aws:scheduler:us-east-1:000000000000:schedule/default/heartbeat';

const started: Schedule[] = [];
afterEach(async () => {
  for (const schedule of started.splice(0)) await schedule.stop();
  vi.useRealTimers();
});

function setUp(settings: Partial<ScheduleOptions> & { answer?: () => InvocationResult | Promise<InvocationResult>; input?: unknown } = {}) {
  const { answer = () => SUCCESS, input = { at: '<aws.scheduler.scheduled-time>' }, ...options } = settings;
  const clock = createManualClock('2026-11-16T10:00:00Z');
  const events: unknown[] = [];
  const deadLetters: { body: string; attributes: Record<string, string> }[] = [];
  const problems: Problem[] = [];
  const schedule = startSchedule({
    name: 'heartbeat',
    expression: 'rate(1 minute)',
    state: 'ENABLED',
    target: {
      invoke: async (event) => {
        events.push(event);
        return answer();
      },
      input,
      arn: 'arn:target',
    },
    sendToDeadLetterQueue: async (body, attributes) => void deadLetters.push({ body, attributes }),
    clock,
    onProblem: (problem) => problems.push(problem),
    ...options,
  });
  started.push(schedule);
  return { clock, events, deadLetters, problems, schedule };
}

describe('a schedule', () => {
  it('invokes its target at each occurrence, and says when the next one is', async () => {
    const { clock, events, schedule } = setUp();
    expect(schedule.nextAt).toEqual(new Date('2026-11-16T10:00:00Z'));
    await clock.advanceTo('2026-11-16T10:02:30Z');
    expect(events).toEqual([{ at: '2026-11-16T10:00:00Z' }, { at: '2026-11-16T10:01:00Z' }, { at: '2026-11-16T10:02:00Z' }]);
    expect(schedule.nextAt).toEqual(new Date('2026-11-16T10:03:00Z'));
  });

  it('of the cron kind waits for its time in its zone', async () => {
    const { clock, events, schedule } = setUp({ expression: 'cron(0 2 * * ? *)', timeZone: 'Europe/Berlin' });
    expect(schedule.nextAt).toEqual(new Date('2026-11-17T01:00:00Z'));
    await clock.advanceTo('2026-11-19T00:00:00Z');
    expect(events).toEqual([{ at: '2026-11-17T01:00:00Z' }, { at: '2026-11-18T01:00:00Z' }]);
  });

  it('that is disabled never runs', async () => {
    const { clock, events, schedule } = setUp({ state: 'DISABLED' });
    await clock.advanceTo('2026-11-17T10:00:00Z');
    expect(events).toEqual([]);
    expect(schedule.nextAt).toBeUndefined();
  });

  it('whose years are over never runs again', async () => {
    const { clock, schedule } = setUp({ expression: 'cron(0 0 31 12 ? 2026)' });
    await clock.advanceTo('2027-01-01T00:00:00Z');
    expect(schedule.nextAt).toBeUndefined();
    expect(clock.timerCount).toBe(0);
  });

  it('does not wait for a slow invocation before the next one', async () => {
    const release = Promise.withResolvers<InvocationResult>();
    const { clock, events } = setUp({ answer: () => release.promise });
    await clock.advanceTo('2026-11-16T10:01:00Z');
    expect(events).toHaveLength(2);
    release.resolve(SUCCESS);
  });

  it('runs once after the machine slept through many occurrences', async () => {
    const { clock, events, schedule } = setUp();
    await clock.advanceTo('2026-11-16T10:00:30Z');
    await clock.wakeUpAt('2026-11-16T13:30:10Z');
    expect(events).toEqual([{ at: '2026-11-16T10:00:00Z' }, { at: '2026-11-16T10:01:00Z' }]);
    expect(schedule.nextAt).toEqual(new Date('2026-11-16T13:31:00Z'));
  });

  it('that is stopped starts nothing more, and waits for what runs', async () => {
    const release = Promise.withResolvers<InvocationResult>();
    const { clock, events, schedule } = setUp({ answer: () => release.promise });
    await clock.advanceTo('2026-11-16T10:00:00Z');
    let isStopped = false;
    const stopped = schedule.stop().then(() => {
      isStopped = true;
    });
    await clock.advanceTo('2026-11-16T11:00:00Z');
    expect({ events: events.length, isStopped }).toEqual({ events: 1, isStopped: false });
    release.resolve(FAILURE);
    await stopped;
    expect(clock.timerCount).toBe(0);
  });

  it.each([
    [{ maximumRetryAttempts: 186 }, /it must be 0-185/],
    [{ maximumEventAgeInSeconds: 59 }, /it must be 60-86400/],
  ])('with the retry policy %j is refused', (retryPolicy, message) => {
    expect(() => setUp({ retryPolicy })).toThrow(message);
  });
});

describe('the input', () => {
  it('has its keywords replaced, attempt by attempt', async () => {
    const answers = [FAILURE, SUCCESS];
    const input = '{"arn":"<aws.scheduler.schedule-arn>","text":"try <aws.scheduler.attempt-number> of <aws.scheduler.execution-id>"}';
    const { clock, events } = setUp({ input, answer: () => answers.shift() ?? SUCCESS });
    await clock.advanceTo('2026-11-16T10:00:59Z');
    expect(events).toEqual([
      { arn: SCHEDULE_ARN, text: expect.stringMatching(/^try 1 of [0-9a-f-]{36}$/) },
      { arn: SCHEDULE_ARN, text: expect.stringMatching(/^try 2 of [0-9a-f-]{36}$/) },
    ]);
  });

  it('that is absent becomes the event that Scheduler makes up', async () => {
    const clock = createManualClock('2026-11-16T10:00:00Z');
    const events: unknown[] = [];
    const invoke = async (event: unknown) => {
      events.push(event);
      return SUCCESS;
    };
    const target = { invoke, input: undefined };
    started.push(startSchedule({ name: 'heartbeat', expression: 'rate(1 hour)', state: 'ENABLED', target, clock, onProblem: () => {} }));
    await clock.advanceTo('2026-11-16T10:00:01Z');
    expect(events).toMatchObject([
      { source: 'aws.scheduler', 'detail-type': 'Scheduled Event', time: '2026-11-16T10:00:00Z', resources: [SCHEDULE_ARN] },
    ]);
  });
});

describe('an occurrence that fails', () => {
  it('is tried again with growing pauses until it succeeds', async () => {
    const answers: InvocationResult[] = [FAILURE, { status: 'throttled' }, FAILURE];
    const attemptedAt: string[] = [];
    const { clock, deadLetters } = setUp({
      expression: 'rate(1 day)',
      answer: () => {
        attemptedAt.push(clock.now().toISOString().slice(11, 19));
        return answers.shift() ?? SUCCESS;
      },
    });
    await clock.advanceTo('2026-11-16T12:00:00Z');
    expect(attemptedAt).toEqual(['10:00:00', '10:00:01', '10:00:03', '10:00:07']);
    expect(deadLetters).toEqual([]);
  });

  it('goes to the dead-letter queue when its retries are used up', async () => {
    const { clock, events, deadLetters, problems } = setUp({
      expression: 'rate(1 day)',
      answer: () => FAILURE,
      retryPolicy: { maximumRetryAttempts: 2 },
    });
    await clock.advanceTo('2026-11-16T12:00:00Z');
    expect(events).toHaveLength(3);
    expect(deadLetters).toEqual([
      {
        body: '{"at":"2026-11-16T10:00:00Z"}',
        attributes: {
          ERROR_CODE: 'TypeError',
          ERROR_MESSAGE: 'boom',
          EXECUTION_ID: expect.stringMatching(/^[0-9a-f-]{36}$/),
          EXHAUSTED_RETRY_CONDITION: 'MaximumRetryAttempts',
          IS_PAYLOAD_TRUNCATED: 'false',
          RETRY_ATTEMPTS: '2',
          SCHEDULED_TIME: '2026-11-16T10:00:00Z',
          SCHEDULE_ARN,
          TARGET_ARN: 'arn:target',
        },
      },
    ]);
    expect(problems).toMatchObject([{ source: 'heartbeat', message: expect.stringContaining('was not delivered after 2 retries') }]);
  });

  it('goes there when it is too old', async () => {
    const { clock, deadLetters } = setUp({
      expression: 'rate(1 day)',
      answer: () => ({ status: 'throttled' }),
      retryPolicy: { maximumEventAgeInSeconds: 60 },
    });
    await clock.advanceTo('2026-11-16T10:02:00Z');
    expect(deadLetters).toMatchObject([
      {
        attributes: { ERROR_CODE: 'TooManyRequestsException', EXHAUSTED_RETRY_CONDITION: 'MaximumEventAgeInSeconds', RETRY_ATTEMPTS: '5' },
      },
    ]);
  });

  it('is given up after 24 hours by default', async () => {
    const { clock, events, deadLetters } = setUp({ expression: 'rate(30 days)', answer: () => FAILURE });
    await clock.advanceTo('2026-11-17T10:00:01Z');
    expect(deadLetters).toMatchObject([{ attributes: { EXHAUSTED_RETRY_CONDITION: 'MaximumEventAgeInSeconds' } }]);
    expect(events.length).toBeLessThan(186);
  });

  it('counts as failed when the invocation itself rejects, and a dead letter that cannot be sent is reported', async () => {
    const { clock, problems } = setUp({
      expression: 'rate(1 day)',
      answer: () => Promise.reject(new Error('no such process')),
      retryPolicy: { maximumRetryAttempts: 0 },
      sendToDeadLetterQueue: () => Promise.reject(new Error('queue is gone')),
    });
    await clock.advanceTo('2026-11-16T10:00:01Z');
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining('InvocationError: no such process'),
      'a dead letter could not be sent, so it is lost: queue is gone',
    ]);
  });
});

describe('the real clock', () => {
  it('calls back at an instant beyond the longest timer, not earlier', () => {
    vi.useFakeTimers({ now: new Date('2026-11-16T10:00:00Z') });
    const callback = vi.fn();
    systemClock.setTimer(new Date('2026-12-16T10:00:00Z'), callback);
    vi.advanceTimersByTime(Date.parse('2026-12-16T10:00:00Z') - Date.now() - 1);
    expect(callback).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(callback).toHaveBeenCalledOnce();
  });

  it('notices within half a minute that the wall clock moved on without it', () => {
    vi.useFakeTimers({ now: new Date('2026-11-16T10:00:00Z') });
    const callback = vi.fn();
    systemClock.setTimer(new Date('2026-11-16T18:00:00Z'), callback);
    vi.setSystemTime(new Date('2026-11-16T20:00:00Z'));
    vi.advanceTimersByTime(30_000);
    expect(callback).toHaveBeenCalledOnce();
  });

  it('can be told not to call back', () => {
    vi.useFakeTimers({ now: new Date('2026-11-16T10:00:00Z') });
    const callback = vi.fn();
    systemClock.setTimer(new Date('2026-11-16T10:10:00Z'), callback)();
    vi.advanceTimersByTime(3_600_000);
    expect(callback).not.toHaveBeenCalled();
  });
});
