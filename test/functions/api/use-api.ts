import middy from '@middy/core';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { afterAll, beforeAll } from 'vitest';
import { answerRequest } from '../../../functions/api/answer-request.ts';
import type { Answer } from '../../../functions/api/route.ts';
import { withProblemDetails } from '../../../functions/middleware/problem-details.ts';
import { type Database, openDatabase } from '../../../shared/db/database.ts';
import { createLogger } from '../../../shared/observability/log.ts';
import type { Doorbell } from '../../../shared/queue/doorbell.ts';
import type { TestDatabase } from '../../support/database.ts';
import { recordDoorbell } from '../../support/engine.ts';
import { type HttpRequest, httpEvent } from './http-event.ts';

export interface Reply {
  status: number;
  headers: Record<string, unknown>;
  text: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a reply is whatever JSON came; the expectations check it.
  json: any;
}

/** Asks the API over a real database, with its error mapping but without the secret that names the database. */
export function useApi(server: TestDatabase): { get(path: string, request?: HttpRequest): Promise<Reply> } {
  let database: Database;
  beforeAll(() => {
    database = openDatabase({ url: server.url });
  });
  afterAll(() => database.close());
  return { get: (path, request) => ask(database, path, request) };
}

export async function ask(
  database: Database,
  path: string,
  request?: HttpRequest,
  log = createLogger('api', () => {}),
  doorbell: Doorbell = recordDoorbell(),
): Promise<Reply> {
  const handler = middy<APIGatewayProxyEventV2, Answer>((event: APIGatewayProxyEventV2) => answerRequest(event, database, doorbell)).use(
    withProblemDetails(log),
  );
  return toReply(await handler(httpEvent(path, request), { awsRequestId: 'invocation-1' } as Context));
}

export function toReply({ statusCode, headers, body }: Answer): Reply {
  const isJson = String(headers?.['content-type']).includes('json');
  return { status: statusCode ?? 0, headers: headers ?? {}, text: body, json: isJson && body ? JSON.parse(body) : undefined };
}
