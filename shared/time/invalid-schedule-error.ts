/** A schedule that cannot be accepted. The message is meant for the person who wrote it: what was received, what is allowed, what to do. */
export class InvalidScheduleError extends Error {
  readonly code = 'invalid_schedule';
  override readonly name = 'InvalidScheduleError';
}
