import { readExecution } from '../../../shared/operations/read-execution.ts';
import { ProblemError } from '../../middleware/problem-details.ts';
import { answerLive } from '../answers.ts';
import { readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

export const readExecutionRoute: Route = {
  method: 'GET',
  path: '/v1/executions/{id}',
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    const id = request.path.id ?? '';
    const execution = await readExecution(database, id);
    if (!execution)
      throw new ProblemError(404, 'execution_not_found', `execution '${id}' does not exist: GET /v1/executions lists those that do`);
    return answerLive(request, execution);
  },
};
