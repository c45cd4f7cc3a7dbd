import { readManifest } from '../../../shared/operations/read-manifest.ts';
import { ProblemError } from '../../middleware/problem-details.ts';
import { answerLive } from '../answers.ts';
import { readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

export const readManifestRoute: Route = {
  method: 'GET',
  path: '/v1/manifests/{externalId}',
  handle: async (request, database) => {
    readParameters(request.query, {});
    const externalId = request.path.externalId ?? '';
    const manifest = await readManifest(database, externalId);
    if (!manifest)
      throw new ProblemError(404, 'manifest_not_found', `manifest '${externalId}' does not exist: GET /v1/manifests lists those that do`);
    return answerLive(request, manifest);
  },
};
