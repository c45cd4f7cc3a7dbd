import { patchManifest } from '../../../shared/define/patch-manifest.ts';
import { putManifests } from '../../../shared/define/put-manifests.ts';
import { InvalidInputError } from '../../../shared/errors.ts';
import type { ExpectedVersion } from '../../../shared/model/refuse-stale.ts';
import { removeManifest } from '../../../shared/operations/remove-manifest.ts';
import { answerMoment } from '../answers.ts';
import { json, readBody, readObject } from '../read-body.ts';
import type { Request, Route } from '../route.ts';
import { requireManifest } from './read-manifest.ts';

const path = '/v1/manifests/{externalId}';

/** Of the six megabytes that an invocation takes; in the event, every quote of a body is two characters. */
const MAX_MANY_BYTES = 4 * 1024 * 1024;

const putRoute: Route = {
  method: 'PUT',
  path,
  handle: async (request, context) => {
    const externalId = request.path.externalId ?? '';
    const body = readObject(request);
    if (body.externalId !== undefined && body.externalId !== externalId)
      throw new InvalidInputError(
        'invalid_request',
        `the body is for another manifest than the path, '${externalId}': leave out externalId`,
      );
    const [result] = await putManifests(context, [{ ...body, externalId }], { version: readVersion(request) });
    return answerMoment(await requireManifest(context.database, externalId), result?.outcome === 'created' ? 201 : 200);
  },
};

/** All of them or none. */
const putManyRoute: Route = {
  method: 'PUT',
  path: '/v1/manifests',
  handle: async (request, context) => {
    const { manifests } = readBody(request, { manifests: json }, { maxBytes: MAX_MANY_BYTES });
    if (readVersion(request) !== undefined)
      throw new InvalidInputError('invalid_request', 'if-match is the tag of one manifest, and here are many: put them one by one');
    return answerMoment({ items: await putManifests(context, manifests) });
  },
};

const patchRoute: Route = {
  method: 'PATCH',
  path,
  handle: async (request, context) => {
    const externalId = request.path.externalId ?? '';
    await patchManifest(context, externalId, readObject(request), { version: readVersion(request) });
    return answerMoment(await requireManifest(context.database, externalId));
  },
};

const removeRoute: Route = {
  method: 'DELETE',
  path,
  handle: async (request, context) => {
    readBody(request, {});
    const removed = await removeManifest(context, request.path.externalId ?? '', { version: readVersion(request) });
    return answerMoment(removed, removed.outcome === 'deleted' ? 200 : 202);
  },
};

export const manifestWriteRoutes: Route[] = [putRoute, putManyRoute, patchRoute, removeRoute];

/** The version that the client has read: what the tag of the manifest begins with, or the number by itself. `*` is any, as long as there is one; without the header, none is needed. */
function readVersion({ headers }: Request): ExpectedVersion | undefined {
  const given = headers['if-match']?.trim();
  if (given === undefined) return undefined;
  if (given === '*') return 'any';
  const version = /^(?:W\/)?"(\d{1,15})(?:-[\w-]*)?"$/.exec(given)?.[1];
  if (version !== undefined) return Number(version);
  throw new InvalidInputError(
    'invalid_request',
    `if-match '${given.slice(0, 100)}' is malformed: give the ETag of the manifest, or its version in quotes`,
  );
}
