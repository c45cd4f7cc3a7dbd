import type { Route } from './route.ts';
import { listExecutionsRoute } from './routes/list-executions.ts';
import { listManifestsRoute } from './routes/list-manifests.ts';
import { pageRoutes } from './routes/page.ts';
import { readExecutionRoute } from './routes/read-execution.ts';
import { readHealthRoute } from './routes/read-health.ts';
import { readManifestRoute } from './routes/read-manifest.ts';

/** Everything that is answered; of routes that match the same path the first wins. */
export const routeTable: readonly Route[] = [
  readHealthRoute,
  listManifestsRoute,
  readManifestRoute,
  listExecutionsRoute,
  readExecutionRoute,
  ...pageRoutes,
];
