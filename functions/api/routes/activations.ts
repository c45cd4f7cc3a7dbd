import { activate } from '../../../shared/dormant/activate.ts';
import { readRequest } from '../../../shared/dormant/read-request.ts';
import { answerMoment } from '../answers.ts';
import { json, readBody } from '../read-body.ts';
import type { Route } from '../route.ts';

/** For programs that are no functions of the account; those invoke the activator. The lease token says in whose name, whoever signed the request. */
export const activationsRoute: Route = {
  method: 'POST',
  path: '/v1/activations',
  handle: async (request, context) => {
    const fields = readBody(request, { executionId: json, leaseToken: json, key: json, activations: json });
    const results = await activate(context, readRequest(fields));
    return answerMoment({ results }, results.some(({ outcome }) => outcome === 'activated') ? 202 : 200);
  },
};
