import packageDescription from '../../../package.json' with { type: 'json' };
import { readHealth } from '../../../shared/operations/read-health.ts';
import { answerMoment } from '../answers.ts';
import { readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

export const readHealthRoute: Route = {
  method: 'GET',
  path: '/v1/health',
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    return answerMoment(await readHealth(database, packageDescription.version));
  },
};
