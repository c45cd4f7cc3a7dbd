import middy from '@middy/core';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { createLogger } from '../../shared/observability/log.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';
import { withProblemDetails } from '../middleware/problem-details.ts';
import { answerRequest } from './answer-request.ts';
import type { Answer } from './route.ts';

/** Leaves time to say so when the database does not answer before the function's deadline. */
const TIMEOUT_EARLY_MILLISECONDS = 250;

// Only what it gives to the handler: an error here is an answer, and problem details decide which of them are worth a line in the log.
const { before: giveDoorbell } = withDoorbell('api');

/**
 * The HTTP API and the page, behind API Gateway (payload format 2.0). A request changes things in one transaction, or does not change anything; only of several dead letters each is
 * resolved in its own, and the answer tells of each. Killed before a commit, nothing of it happened; killed between the commit and the poke, the manager's next cycle finds what was
 * asked for, and only the caller does not know.
 */
export const handler = middy<APIGatewayProxyEventV2, Answer, Error, DatabaseContext & DoorbellContext>({
  timeoutEarlyInMillis: TIMEOUT_EARLY_MILLISECONDS,
})
  .use(withProblemDetails(createLogger('api')))
  .use({ before: giveDoorbell })
  .use(withDatabase())
  .handler((event, { database, doorbell }) => answerRequest(event, database, doorbell));
