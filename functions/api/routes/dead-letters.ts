import { deadLetterStatuses } from '../../../shared/db/queries/select-dead-letters.ts';
import { listDeadLetters } from '../../../shared/operations/list-dead-letters.ts';
import { readDeadLetter } from '../../../shared/operations/read-dead-letter.ts';
import { acknowledgeDeadLetter, retryDeadLetter } from '../../../shared/operations/resolve-dead-letter.ts';
import { acknowledgeDeadLetters, retryDeadLetters } from '../../../shared/operations/resolve-dead-letters.ts';
import { answerLive, answerMoment } from '../answers.ts';
import { json, readBody, texts, textUpTo } from '../read-body.ts';
import { cursor, DEFAULT_LIMIT, limit, oneOf, readParameters, text } from '../read-parameters.ts';
import type { Route } from '../route.ts';

const parameters = { status: oneOf(deadLetterStatuses), manifest: text, limit, cursor };
const note = textUpTo(2_000);

const listRoute: Route = {
  method: 'GET',
  path: '/v1/dead-letters',
  handle: async (request, { database }) => {
    const { limit = DEFAULT_LIMIT, ...filter } = readParameters(request.query, parameters);
    return answerLive(request, await listDeadLetters(database, { ...filter, limit }));
  },
};

const readRoute: Route = {
  method: 'GET',
  path: '/v1/dead-letters/{id}',
  handle: async (request, { database }) => {
    readParameters(request.query, {});
    return answerLive(request, await readDeadLetter(database, request.path.id ?? ''));
  },
};

const retryRoute: Route = {
  method: 'POST',
  path: '/v1/dead-letters/{id}/retry',
  handle: async (request, context) =>
    answerMoment(await retryDeadLetter(context, request.path.id ?? '', readBody(request, { input: json })), 202),
};

const acknowledgeRoute: Route = {
  method: 'POST',
  path: '/v1/dead-letters/{id}/acknowledge',
  handle: async (request, context) => {
    const id = request.path.id ?? '';
    await acknowledgeDeadLetter(context, id, readBody(request, { note }));
    return answerMoment(await readDeadLetter(context.database, id));
  },
};

const retryManyRoute: Route = {
  method: 'POST',
  path: '/v1/dead-letters/retry',
  handle: async (request, context) => {
    const { ids = [] } = readBody(request, { ids: texts });
    return answerMoment({ items: await retryDeadLetters(context, ids) });
  },
};

const acknowledgeManyRoute: Route = {
  method: 'POST',
  path: '/v1/dead-letters/acknowledge',
  handle: async (request, context) => {
    const { ids = [], note: said } = readBody(request, { ids: texts, note });
    return answerMoment({ items: await acknowledgeDeadLetters(context, ids, said) });
  },
};

export const deadLetterRoutes: Route[] = [listRoute, readRoute, retryRoute, acknowledgeRoute, retryManyRoute, acknowledgeManyRoute];
