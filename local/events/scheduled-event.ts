export interface ScheduledAttempt {
  scheduleArn: string;
  scheduledAt: Date;
  executionId: string;
  attempt: number;
}

/**
 * The event of one attempt. Input is JSON, as text or already read; Scheduler replaces its four keywords in the text, so they work inside longer strings too.
 * Without an input the target gets the event that Scheduler makes up.
 */
export function buildScheduledEvent(input: unknown, { scheduleArn, scheduledAt, executionId, attempt }: ScheduledAttempt): unknown {
  const scheduledTime = formatInstant(scheduledAt);
  if (input === undefined) {
    const [, , , region, account] = scheduleArn.split(':');
    const source = { version: '0', id: executionId, 'detail-type': 'Scheduled Event', source: 'aws.scheduler' };
    return { ...source, account, time: scheduledTime, region, resources: [scheduleArn], detail: '{}' };
  }
  const text = (typeof input === 'string' ? input : JSON.stringify(input))
    .replaceAll('<aws.scheduler.schedule-arn>', scheduleArn)
    .replaceAll('<aws.scheduler.scheduled-time>', scheduledTime)
    .replaceAll('<aws.scheduler.execution-id>', executionId)
    .replaceAll('<aws.scheduler.attempt-number>', String(attempt));
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Scheduler writes instants without a fraction. */
export function formatInstant(instant: Date): string {
  return `${instant.toISOString().slice(0, 19)}Z`;
}
