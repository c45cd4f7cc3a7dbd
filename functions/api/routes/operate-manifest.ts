import { disableManifest, enableManifest } from '../../../shared/operations/switch-manifest.ts';
import { trigger } from '../../../shared/operations/trigger.ts';
import { why } from '../../../shared/operations/why.ts';
import { answerMoment } from '../answers.ts';
import { poolSizes } from '../pool-sizes.ts';
import { json, number, readBody } from '../read-body.ts';
import { readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';
import { requireManifest } from './read-manifest.ts';

const triggerRoute: Route = {
  method: 'POST',
  path: '/v1/manifests/{externalId}/trigger',
  handle: async (request, context) => {
    const fields = readBody(request, { input: json, delaySeconds: number });
    const result = await trigger(context, { externalId: request.path.externalId ?? '', ...fields });
    return answerMoment(result, result.outcome === 'already_queued' ? 200 : 202);
  },
};

const whyRoute: Route = {
  method: 'GET',
  path: '/v1/manifests/{externalId}/why',
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    return answerMoment(await why(database, request.path.externalId ?? '', poolSizes()));
  },
};

export const manifestOperationRoutes: Route[] = [
  triggerRoute,
  switchRoute('/v1/manifests/{externalId}/enable', enableManifest),
  switchRoute('/v1/manifests/{externalId}/disable', disableManifest),
  whyRoute,
];

function switchRoute(path: string, operate: typeof enableManifest): Route {
  return {
    method: 'POST',
    path,
    handle: async (request, context) => {
      readBody(request, {});
      const externalId = request.path.externalId ?? '';
      await operate(context, externalId);
      return answerMoment(await requireManifest(context.database, externalId));
    },
  };
}
