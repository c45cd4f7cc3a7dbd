import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { createLogger, type Logger } from '../../shared/observability/log.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';
import { createSqsDoorbell } from '../../shared/queue/sqs-doorbell.ts';

export interface DoorbellContext extends Context {
  doorbell: Doorbell;
  log: Logger;
}

/** Gives the handler the bells it may ring, and a log that names the function. */
export function withDoorbell(source: string): MiddlewareObj<unknown, unknown, Error, DoorbellContext> {
  const log = createLogger(source);
  let doorbell: Doorbell | undefined;
  return {
    before: ({ context }) => {
      doorbell ??= createSqsDoorbell(log);
      context.doorbell = doorbell;
      context.log = log;
    },
    onError: ({ error }) => log.error('the invocation failed', { error }),
  };
}
