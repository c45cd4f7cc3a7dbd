import middy from '@middy/core';
import { activate } from '../../shared/dormant/activate.ts';
import { readRequest } from '../../shared/dormant/read-request.ts';
import { ConflictError, InvalidInputError } from '../../shared/errors.ts';
import { type ActivationAnswer, InvalidActivationError } from '../../shared/model/dormant.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/**
 * Activates dormant dependents for other functions of the account. Who may invoke it is IAM's question, for which run is that of the lease token in the request; neither tokens nor
 * inputs are logged. A refusal is an answer: an error of the function would be retried where it was invoked asynchronously, and no retry mends it. Everything
 * else is an error, and repeating it with the same key is safe.
 */
export async function answerActivation(
  event: unknown,
  { database, doorbell, log }: Pick<DatabaseContext & DoorbellContext, 'database' | 'doorbell' | 'log'>,
): Promise<ActivationAnswer> {
  try {
    const request = readRequest(event);
    const results = await activate({ database, doorbell }, request);
    const activatedCount = results.filter(({ outcome }) => outcome === 'activated').length;
    log.info('activations answered', {
      executionId: request.executionId,
      activatedCount,
      skippedCount: results.length - activatedCount,
    });
    return { ok: true, results };
  } catch (error) {
    if (!(error instanceof InvalidInputError || error instanceof ConflictError)) throw error;
    log.warn('activations were refused', { code: error.code });
    const { code, message } = error;
    return { ok: false, code, message, ...(error instanceof InvalidActivationError && { externalIds: error.externalIds }) };
  }
}

export const handler = middy(answerActivation).use(withDoorbell('activator')).use(withDatabase());
