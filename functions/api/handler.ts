import middy from '@middy/core';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { createLogger } from '../../shared/observability/log.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { withProblemDetails } from '../middleware/problem-details.ts';
import { answerRequest } from './answer-request.ts';
import type { Answer } from './route.ts';

/** Leaves time to say so when the database does not answer before the function's deadline. */
const TIMEOUT_EARLY_MILLISECONDS = 250;

/** The HTTP API and the page, behind API Gateway (payload format 2.0). It reads; a request that is killed half-way changed nothing. */
export const handler = middy<APIGatewayProxyEventV2, Answer, Error, DatabaseContext>({ timeoutEarlyInMillis: TIMEOUT_EARLY_MILLISECONDS })
  .use(withProblemDetails(createLogger('api')))
  .use(withDatabase())
  .handler((event, context) => answerRequest(event, context.database));
