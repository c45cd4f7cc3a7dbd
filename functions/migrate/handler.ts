import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import middy from '@middy/core';
import { openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { startDeployment } from '../../shared/define/sync-deployment.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { readDatabaseUrl } from '../middleware/database.ts';

/**
 * Runs before any other function of a deployment changes, and so is where a deployment begins: it takes the version by which sync will know whether another has begun
 * since. Its failure fails the deployment, with everything as it was. Invoked twice, the deployment has begun twice, and the later beginning counts.
 */
export const handler = middy(async () => {
  const { owner, definitionHash } = JSON.parse(readFileSync(join(import.meta.dirname, 'deployment.json'), 'utf8')) as {
    owner: string;
    definitionHash: string;
  };
  const url = await readDatabaseUrl();
  const { applied } = await migrate(url);
  const database = openDatabase({ url, maxConnections: 1 });
  try {
    const deploymentVersion = await startDeployment(database, owner, definitionHash);
    createLogger('migrate').info('schema is up to date, the deployment begins', { applied, owner, deploymentVersion });
    return { applied, deploymentVersion };
  } finally {
    await database.close();
  }
});
