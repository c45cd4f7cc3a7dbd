import type { Route } from './route.ts';
import { activationsRoute } from './routes/activations.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { groupRoutes } from './routes/groups.ts';
import { listExecutionsRoute } from './routes/list-executions.ts';
import { listManifestsRoute } from './routes/list-manifests.ts';
import { executionOperationRoutes } from './routes/operate-execution.ts';
import { manifestOperationRoutes } from './routes/operate-manifest.ts';
import { pageRoutes } from './routes/page.ts';
import { pauseRoutes } from './routes/pause.ts';
import { queueRoutes } from './routes/queue.ts';
import { readExecutionRoute } from './routes/read-execution.ts';
import { readHealthRoute } from './routes/read-health.ts';
import { readManifestRoute } from './routes/read-manifest.ts';
import { workflowRoutes } from './routes/workflows.ts';
import { manifestWriteRoutes } from './routes/write-manifests.ts';

/** Everything that is answered; of routes that match the same path the first wins. */
export const routeTable: readonly Route[] = [
  readHealthRoute,
  listManifestsRoute,
  readManifestRoute,
  ...manifestWriteRoutes,
  ...manifestOperationRoutes,
  ...groupRoutes,
  listExecutionsRoute,
  readExecutionRoute,
  ...executionOperationRoutes,
  activationsRoute,
  ...queueRoutes,
  ...deadLetterRoutes,
  ...workflowRoutes,
  ...pauseRoutes,
  ...pageRoutes,
];
