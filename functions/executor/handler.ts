import app from 'waybill:app';
import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { leaseTimings } from '../../shared/executor/lease-timings.ts';
import { runBatch } from '../../shared/executor/run-batch.ts';
import { requiredSetting } from '../../shared/settings.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/** Runs the executions that the batch's bells name. What was not started is returned, so that SQS delivers it again; what was started never is. */
async function execute(event: SQSEvent, context: DatabaseContext & DoorbellContext): Promise<SQSBatchResponse> {
  const { database, databaseOptions, doorbell, log, metrics, awsRequestId: requestId, logStreamName: logStream } = context;
  const invocation = { requestId, logStream, remainingMs: context.getRemainingTimeInMillis() };
  const returned = await runBatch(event.Records, invocation, {
    database,
    databaseOptions,
    doorbell,
    workQueueUrl: requiredSetting('WAYBILL_WORK_QUEUE_URL'),
    workflows: app.workflows,
    log,
    metrics,
    timings: leaseTimings(),
  });
  return { batchItemFailures: returned.map((itemIdentifier) => ({ itemIdentifier })) };
}

export const handler = middy(execute).use(withDoorbell('executor')).use(withDatabase());
