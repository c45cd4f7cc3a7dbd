import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { messageOf, NonRetryableError, WaybillError } from '../errors.ts';
import type { Workflow } from '../model/workflow.ts';
import { HTTP_DEFAULTS, type HttpInput, httpInput, httpSchema } from './http-input.ts';
import { prepareRequest } from './prepare-request.ts';
import { type HttpOutput, readAnswer } from './read-answer.ts';
import { readRetryAfterSeconds } from './retry-after.ts';
import { sendRequest } from './send-request.ts';

/** How often one run waits because it was asked to; then being asked again is a failure like any other. */
const MOST_WAITS = 10;
/** What a failure repeats of the answer. */
const EXCERPT_LENGTH = 300;

/** The answer that was hoped for, or how long to wait before asking again. */
type Requested = { answer: HttpOutput } | { waitSeconds: number; status: number };

/**
 * Calls a URL. Any 2xx, or one of `expectedStatuses`, is success and the answer is the output. What may be better next time fails the attempt: no answer in time, a lost connection, 408, 429 and
 * 5xx. Any other answer dead-letters the run at once. A 429 or 503 that says when to come back (`Retry-After`) is no failure: the run sleeps until then, without a function.
 *
 * The answer is recorded as a step, so a run that dies after it does not send the request again; one that dies before does, with the same `Idempotency-Key`.
 */
export const http: Workflow<StandardSchemaV1<HttpInput>, HttpOutput> = {
  name: 'waybill/http',
  pool: 'default',
  input: httpInput,
  inputJsonSchema: { ...httpSchema },
  async run(ctx, input) {
    for (let turn = 1; ; turn++) {
      const mayWait = turn <= MOST_WAITS;
      const requested = await ctx.step(`request-${turn}`, ({ signal }) =>
        request(input, { idempotencyKey: ctx.idempotencyKey, mayWait, signal }),
      );
      if ('answer' in requested) return requested.answer;
      ctx.log.info('asked to come back later', requested);
      await ctx.sleep(`retry-after-${turn}`, requested.waitSeconds);
    }
  },
};

interface RequestOptions {
  idempotencyKey: string;
  mayWait: boolean;
  signal: AbortSignal;
}

async function request(input: HttpInput, { idempotencyKey, mayWait, signal }: RequestOptions): Promise<Requested> {
  const settings = { ...HTTP_DEFAULTS, expectedStatuses: [], ...input };
  const timeout = AbortSignal.timeout(settings.timeoutSeconds * 1000);
  const either = AbortSignal.any([signal, timeout]);
  const { request: prepared, hide } = await prepareRequest(input, { idempotencyKey, signal });
  const what = `${prepared.method} ${prepared.shownUrl}`;
  try {
    const response = await sendRequest(prepared, { ...settings, signal: either });
    const answer = await readAnswer(response, { ...settings, hide });
    return judge(answer, response, { ...settings, what, mayWait });
  } catch (error) {
    signal.throwIfAborted();
    if (timeout.aborted) throw failure(`${what} took longer than its timeoutSeconds of ${settings.timeoutSeconds}`);
    if (error instanceof WaybillError) throw error;
    throw failure(`${what} failed: ${messageOf(error)}`);
  }
}

interface Judged {
  what: string;
  expectedStatuses: readonly number[];
  maxWaitSeconds: number;
  mayWait: boolean;
}

function judge(answer: HttpOutput, { headers }: IncomingMessage, { what, expectedStatuses, maxWaitSeconds, mayWait }: Judged): Requested {
  const { status } = answer;
  if (expectedStatuses.length ? expectedStatuses.includes(status) : status >= 200 && status < 300) return { answer };
  const waitSeconds = status === 429 || status === 503 ? readRetryAfterSeconds(headers) : undefined;
  if (waitSeconds !== undefined && waitSeconds <= maxWaitSeconds && mayWait) return { waitSeconds, status };
  const asked =
    waitSeconds === undefined
      ? ''
      : `, and asked to wait ${waitSeconds} s (maxWaitSeconds is ${maxWaitSeconds}, at most ${MOST_WAITS} times)`;
  const message = `${what} answered ${status} ${STATUS_CODES[status] ?? ''}`.trim() + asked + excerpt(answer);
  throw status === 408 || status === 429 || status >= 500 ? failure(message) : new NonRetryableError(message);
}

function excerpt({ body }: HttpOutput): string {
  const text = (typeof body === 'string' ? body : body === null ? '' : JSON.stringify(body)).replaceAll(/\s+/g, ' ').trim();
  return text && `: ${text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text}`;
}

function failure(message: string): WaybillError {
  return new WaybillError('http_failed', message, { retryable: true });
}
