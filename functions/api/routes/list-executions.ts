import { executionStates } from '../../../shared/db/queries/execution-columns.ts';
import { listExecutions } from '../../../shared/operations/list-executions.ts';
import { answerLive } from '../answers.ts';
import { cursor, DEFAULT_LIMIT, limit, oneOf, readParameters, text } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const parameters = { manifest: text, workflow: text, state: oneOf(executionStates), limit, cursor };

export const listExecutionsRoute: Route = {
  method: 'GET',
  path: '/v1/executions',
  handle: async (request, { database }) => {
    const { limit = DEFAULT_LIMIT, ...filter } = readParameters(request.query, parameters);
    return answerLive(request, await listExecutions(database, { ...filter, limit }));
  },
};
