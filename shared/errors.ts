export interface ErrorDetails {
  /** Whether the same call may succeed later without a change by the caller. */
  retryable?: boolean;
  cause?: unknown;
}

/** Every error that Waybill raises on purpose: `code` is stable and documented, the message is for people. */
export class WaybillError extends Error {
  readonly code: string;
  readonly retryable: boolean;

  constructor(code: string, message: string, { retryable = false, cause }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
  }
}

/** What was given cannot be accepted; nothing was changed. */
export class InvalidInputError extends WaybillError {}

/** The database could not be reached, or ended the conversation. */
export class DatabaseError extends WaybillError {}

/** The message of anything that can be thrown, `undefined` included. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  if (typeof thrown === 'string') return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return String(thrown);
  }
}

/** Thrown by a workflow to say that another attempt cannot help: the run is dead-lettered at once. */
export class NonRetryableError extends WaybillError {
  constructor(message: string, { cause }: { cause?: unknown } = {}) {
    super('non_retryable', message, { cause });
  }
}

/** What was asked for does not exist (any more). */
export class NotFoundError extends WaybillError {}

/** What was asked for cannot be done in the present state; nothing was changed. */
export class ConflictError extends WaybillError {}
