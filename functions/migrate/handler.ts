import middy from '@middy/core';
import { migrate } from '../../shared/db/migrate.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { readDatabaseUrl } from '../middleware/database.ts';

/** Runs before any other function of a deployment changes. Its failure fails the deployment, with everything as it was. */
export const handler = middy(async () => {
  const { applied } = await migrate(await readDatabaseUrl());
  createLogger('migrate').info('schema is up to date', { applied });
  return { applied };
});
