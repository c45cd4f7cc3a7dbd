import { cancelEntry } from '../../../shared/operations/cancel-entry.ts';
import { listQueue } from '../../../shared/operations/list-queue.ts';
import { answerLive, answerMoment } from '../answers.ts';
import { readBody } from '../read-body.ts';
import { cursor, DEFAULT_LIMIT, limit, readParameters, text } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const parameters = { group: text, manifest: text, workflow: text, limit, cursor };

const listRoute: Route = {
  method: 'GET',
  path: '/v1/queue',
  handle: async (request, { database }) => {
    const { limit = DEFAULT_LIMIT, ...filter } = readParameters(request.query, parameters);
    return answerLive(request, await listQueue(database, { ...filter, limit }));
  },
};

const cancelRoute: Route = {
  method: 'POST',
  path: '/v1/queue/{id}/cancel',
  handle: async (request, context) => {
    readBody(request, {});
    await cancelEntry(context, request.path.id ?? '');
    return answerMoment({ outcome: 'cancelled' });
  },
};

export const queueRoutes: Route[] = [listRoute, cancelRoute];
