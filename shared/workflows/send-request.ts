import { type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { NonRetryableError } from '../errors.ts';
import { checkHost, lookupFor } from './guard-address.ts';
import { findUrlMistake } from './http-input.ts';
import { type PreparedRequest, showUrl } from './prepare-request.ts';

export interface SendRequest {
  maxRedirects: number;
  /** A redirect that is expected is an answer like any other. */
  expectedStatuses: readonly number[];
  signal: AbortSignal;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Sends a request, and again to wherever its answer redirects it, within limits: no more often than allowed, never from https to http, and to another origin without the headers
 * that hold secrets. Gives the answer with its body unread; whoever leaves the body unread must destroy it.
 */
export async function sendRequest(
  first: PreparedRequest,
  { maxRedirects, expectedStatuses, signal }: SendRequest,
): Promise<IncomingMessage> {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const response = await exchange(request, signal);
    const { statusCode = 0, headers } = response;
    if (!REDIRECTS.has(statusCode) || headers.location === undefined || expectedStatuses.includes(statusCode)) return response;
    response.destroy();
    if (redirects >= maxRedirects)
      throw new NonRetryableError(
        `${first.method} ${first.shownUrl} was redirected more than ${maxRedirects} times, which is what maxRedirects allows`,
      );
    request = redirect(request, statusCode, headers.location);
  }
}

/** Over a connection of its own: one that was kept would be dead after the function was frozen, and fail the next run. */
function exchange({ method, url, headers, body }: PreparedRequest, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    checkHost(url);
    const start = url.protocol === 'https:' ? requestSecure : requestPlain;
    const request = start(url, { method, headers, signal, agent: false, lookup: lookupFor(url) });
    request.on('response', resolve).on('error', reject).end(body);
  });
}

/** The request that follows a redirect; refuses one that leads where it must not. */
export function redirect(request: PreparedRequest, status: number, location: string): PreparedRequest {
  const { method, url, shownUrl, headers, secretHeaders, body } = request;
  const refuse = (why: string) => new NonRetryableError(`${method} ${shownUrl} was redirected to what ${why}`);
  const next = URL.parse(location, url.href);
  const mistake = next ? findUrlMistake(next.href) : 'is no URL';
  if (!next || mistake) throw refuse(mistake ?? '');
  if (url.protocol === 'https:' && next.protocol === 'http:') throw refuse('is not encrypted, although the request is');
  const isForeign = next.origin !== url.origin;
  const becomesGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  const left = Object.entries(headers).filter(
    ([name]) => !(isForeign && secretHeaders.includes(name)) && !(becomesGet && name.startsWith('content-')),
  );
  return {
    method: becomesGet ? 'GET' : method,
    url: next,
    shownUrl: shownUrl === showUrl(url) ? showUrl(next) : shownUrl,
    headers: Object.fromEntries(left),
    secretHeaders,
    body: becomesGet ? undefined : body,
  };
}
