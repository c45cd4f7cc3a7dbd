import type { Db } from '../../../shared/db/database.ts';
import type { ManifestDetail } from '../../../shared/operations/describe-manifest.ts';
import { readManifest } from '../../../shared/operations/read-manifest.ts';
import { ProblemError } from '../../middleware/problem-details.ts';
import { answerVersion } from '../answers.ts';
import { readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

export const readManifestRoute: Route = {
  method: 'GET',
  path: '/v1/manifests/{externalId}',
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    return answerVersion(request, await requireManifest(database, request.path.externalId ?? ''));
  },
};

/** The manifest of this name, which the client believes to exist. */
export async function requireManifest(db: Db, externalId: string): Promise<ManifestDetail> {
  const manifest = await readManifest(db, externalId);
  if (manifest) return manifest;
  throw new ProblemError(404, 'manifest_not_found', `manifest '${externalId}' does not exist: GET /v1/manifests lists those that do`);
}
