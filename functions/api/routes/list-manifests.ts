import { manifestStates } from '../../../shared/db/queries/manifest-state.ts';
import { listManifests } from '../../../shared/operations/list-manifests.ts';
import { answerLive } from '../answers.ts';
import { cursor, DEFAULT_LIMIT, limit, oneOf, readParameters, text } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const parameters = { group: text, workflow: text, state: oneOf(manifestStates), q: text, limit, cursor };

export const listManifestsRoute: Route = {
  method: 'GET',
  path: '/v1/manifests',
  handle: async (request, { database }) => {
    const { q: search, limit = DEFAULT_LIMIT, ...filter } = readParameters(request.query, parameters);
    return answerLive(request, await listManifests(database, { ...filter, search, limit }));
  },
};
