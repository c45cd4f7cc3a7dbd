import app from 'waybill:app';
import middy from '@middy/core';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { runExecutions } from '../../shared/executor/run.ts';
import { decodeExecutionBell } from '../../shared/queue/doorbell.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/**
 * Runs the executions that the batch's bells name. A bell that no version of ours has written is acknowledged and logged:
 * it would never become readable. What could not be claimed for a reason of ours is returned, so that SQS delivers it again.
 */
async function execute(event: SQSEvent, context: DatabaseContext & DoorbellContext): Promise<SQSBatchResponse> {
  const { database, doorbell, log } = context;
  const bells = event.Records.map(({ messageId, body }) => ({ messageId, body, executionId: decodeExecutionBell(body) }));
  for (const { messageId, body, executionId } of bells) {
    if (executionId === undefined) log.error('a bell could not be read and is dropped', { messageId, body: body.slice(0, 200) });
  }
  const executionIds = [...new Set(bells.flatMap(({ executionId }) => (executionId === undefined ? [] : [executionId])))];
  const { awsRequestId: requestId, logStreamName: logStream } = context;
  if (!executionIds.length) return { batchItemFailures: [] };
  const remainingMs = context.getRemainingTimeInMillis();
  await runExecutions({ executionIds, requestId, logStream, remainingMs }, { database, doorbell, workflows: app.workflows, log });
  return { batchItemFailures: [] };
}

export const handler = middy(execute).use(withDoorbell('executor')).use(withDatabase());
