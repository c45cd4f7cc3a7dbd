import { listWorkflows } from '../../../shared/operations/list-workflows.ts';
import { runWorkflow } from '../../../shared/operations/run-workflow.ts';
import { answerLive, answerMoment } from '../answers.ts';
import { json, number, readBody } from '../read-body.ts';
import { cursor, DEFAULT_LIMIT, limit, readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const listRoute: Route = {
  method: 'GET',
  path: '/v1/workflows',
  handle: async (request, { database }) => {
    const { limit: most = DEFAULT_LIMIT, cursor: from } = readParameters(request.query, { limit, cursor });
    return answerLive(request, await listWorkflows(database, { limit: most, cursor: from }));
  },
};

const fields = { input: json, delaySeconds: number, maxAttempts: number, priority: number, timeoutSeconds: number };

const runRoute: Route = {
  method: 'POST',
  // Names of built-in workflows have a slash, which API Gateway decodes before anybody can tell it from a separator.
  path: '/v1/workflows/{name+}/run',
  handle: async (request, context) =>
    answerMoment(await runWorkflow(context, { workflow: request.path.name ?? '', ...readBody(request, fields) }), 202),
};

export const workflowRoutes: Route[] = [listRoute, runRoute];
