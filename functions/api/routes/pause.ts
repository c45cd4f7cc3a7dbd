import { pauseEverything, unpauseEverything } from '../../../shared/operations/switch-everything.ts';
import { answerMoment } from '../answers.ts';
import { readBody } from '../read-body.ts';
import type { Route } from '../route.ts';

export const pauseRoutes: Route[] = [switchRoute('/v1/pause', pauseEverything), switchRoute('/v1/unpause', unpauseEverything)];

function switchRoute(path: string, operate: typeof pauseEverything): Route {
  return {
    method: 'POST',
    path,
    handle: async (request, context) => {
      readBody(request, {});
      return answerMoment(await operate(context));
    },
  };
}
