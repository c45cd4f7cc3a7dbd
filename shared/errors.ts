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

export interface StepFailure {
  step: string;
  code: string;
  message: string;
  errorName: string;
  stack?: string;
}

/**
 * What `ctx.step` and `ctx.run` throw for a step or a nested run that failed. Like a result it is what was recorded: a continuation of the attempt gets the same error
 * without running the step again. So it is not the error that was thrown, but tells its name, message and stack.
 */
export class StepFailedError extends WaybillError {
  /** With the names of the nested runs around it: `import/download`. */
  readonly step: string;
  /** The name of what was thrown: `TypeError`. */
  readonly errorName: string;

  constructor({ step, code, message, errorName, stack }: StepFailure) {
    super(code, message, { retryable: !FINAL_CODES.has(code) });
    this.step = step;
    this.errorName = errorName;
    if (stack !== undefined) this.stack = stack;
  }
}

/** Another attempt would meet the same. */
const FINAL_CODES = new Set(['non_retryable', 'invalid_output']);

/** A step took longer than its own `timeoutSeconds`. */
export class StepTimeoutError extends StepFailedError {}
