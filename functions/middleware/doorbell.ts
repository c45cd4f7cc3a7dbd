import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { createLogger, type Logger } from '../../shared/observability/log.ts';
import { createMetrics, type Metrics } from '../../shared/observability/metrics.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';
import { createSqsDoorbell } from '../../shared/queue/sqs-doorbell.ts';

export interface DoorbellContext extends Context {
  doorbell: Doorbell;
  log: Logger;
  metrics: Metrics;
}

/** Gives the handler the bells it may ring, a log that names the function, and metrics. */
export function withDoorbell(source: string): MiddlewareObj<unknown, unknown, Error, DoorbellContext> {
  const log = createLogger(source);
  const metrics = createMetrics();
  let doorbell: Doorbell | undefined;
  return {
    before: ({ context }) => {
      doorbell ??= createSqsDoorbell(log);
      context.doorbell = doorbell;
      context.log = log;
      context.metrics = metrics;
    },
    onError: ({ error }) => log.error('the invocation failed', { error }),
  };
}
