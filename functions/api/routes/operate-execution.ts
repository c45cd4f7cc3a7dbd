import { cancelExecution } from '../../../shared/operations/cancel-execution.ts';
import { rerun } from '../../../shared/operations/rerun.ts';
import { resume } from '../../../shared/operations/resume.ts';
import { answerMoment } from '../answers.ts';
import { readBody } from '../read-body.ts';
import type { Route } from '../route.ts';

const cancelRoute: Route = {
  method: 'POST',
  path: '/v1/executions/{id}/cancel',
  handle: async (request, context) => {
    readBody(request, {});
    const result = await cancelExecution(context, request.path.id ?? '');
    return answerMoment(result, result.outcome === 'cancelled' ? 200 : 202);
  },
};

const rerunRoute: Route = {
  method: 'POST',
  path: '/v1/executions/{id}/rerun',
  handle: async (request, context) => {
    readBody(request, {});
    return answerMoment(await rerun(context, request.path.id ?? ''), 202);
  },
};

const resumeRoute: Route = {
  method: 'POST',
  path: '/v1/executions/{id}/resume',
  handle: async (request, context) => {
    readBody(request, {});
    return answerMoment(await resume(context, request.path.id ?? ''), 202);
  },
};

export const executionOperationRoutes: Route[] = [cancelRoute, rerunRoute, resumeRoute];
