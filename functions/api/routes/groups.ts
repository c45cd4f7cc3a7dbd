import { changeGroup } from '../../../shared/operations/change-group.ts';
import { listGroups } from '../../../shared/operations/list-groups.ts';
import { readGroup } from '../../../shared/operations/read-group.ts';
import { answerLive, answerMoment } from '../answers.ts';
import { boolean, number, numberOrNull, readBody } from '../read-body.ts';
import { cursor, DEFAULT_LIMIT, limit, readParameters } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const listRoute: Route = {
  method: 'GET',
  path: '/v1/groups',
  handle: async (request, { database }) => {
    const { limit: most = DEFAULT_LIMIT, cursor: from } = readParameters(request.query, { limit, cursor });
    return answerLive(request, await listGroups(database, { limit: most, cursor: from }));
  },
};

/** A group may be called anything, slashes included, so its name takes the rest of the path. */
const path = '/v1/groups/{name+}';

const readRoute: Route = {
  method: 'GET',
  path,
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    return answerLive(request, await readGroup(database, request.path.name ?? ''));
  },
};

const changeRoute: Route = {
  method: 'PATCH',
  path,
  handle: async (request, context) => {
    const name = request.path.name ?? '';
    await changeGroup(context, name, readBody(request, { priority: number, maxActiveJobs: numberOrNull, isEnabled: boolean }));
    return answerMoment(await readGroup(context.database, name));
  },
};

export const groupRoutes: Route[] = [listRoute, readRoute, changeRoute];
