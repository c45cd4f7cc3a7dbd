import middy from '@middy/core';
import type { SQSEvent } from 'aws-lambda';
import { dispatcherCycle } from '../../shared/dispatcher/cycle.ts';
import { measureAdmissions } from '../../shared/observability/engine-metrics.ts';
import { poolSettings } from '../../shared/settings.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

const ROUND_MS = 10_000;

/** A batch of pokes is one claim. They are acknowledged after its commit: an error here brings all of them back. */
async function dispatch(_: SQSEvent, { database, doorbell, log, metrics, getRemainingTimeInMillis }: DatabaseContext & DoorbellContext) {
  const { admissions, ...figures } = await dispatcherCycle({
    database,
    doorbell,
    pools: poolSettings(),
    hasTime: () => getRemainingTimeInMillis() > ROUND_MS,
  });
  log.info('cycle ended', figures);
  measureAdmissions(metrics, admissions);
  return { batchItemFailures: [] };
}

export const handler = middy(dispatch).use(withDoorbell('dispatcher')).use(withDatabase());
