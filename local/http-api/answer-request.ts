import type { IncomingMessage } from 'node:http';
import type { InvocationResult, Invoke } from '../lambda/invocation.ts';
import { type CorsConfiguration, corsHeaders, isPreflight, preflightHeaders } from './cors.ts';
import { gatewayAnswer, type HttpAnswer, toHttpAnswer } from './http-answer.ts';
import { buildHttpEvent, type LocalIdentity } from './http-event.ts';
import { refuseForeignRequest } from './local-protection.ts';
import { readBody } from './read-body.ts';
import type { SelectRoute } from './route.ts';

const MAXIMUM_TIMEOUT_MS = 30_000;

export interface RequestSettings {
  apiId: string;
  stageName: string;
  corsConfiguration?: CorsConfiguration;
  identity: LocalIdentity;
  selectRoute: SelectRoute;
  requestId: string;
}

/** From request to answer, in API Gateway's order, behind the laptop's own protection. */
export async function answerRequest(request: IncomingMessage, settings: RequestSettings): Promise<HttpAnswer> {
  const { method = 'GET', headers } = request;
  const { corsConfiguration } = settings;
  const refusal = refuseForeignRequest({
    method,
    headers,
    namedOrigins: corsConfiguration?.AllowOrigins?.filter((origin) => origin !== '*') ?? [],
  });
  if (refusal !== undefined) return gatewayAnswer(403, refusal);
  if (corsConfiguration === undefined) return invokeRoute(request, method, settings);
  if (isPreflight(method, headers))
    return { statusCode: 204, headers: preflightHeaders(corsConfiguration, headers.origin), body: Buffer.alloc(0) };

  const answer = await invokeRoute(request, method, settings);
  const own = Object.entries(answer.headers).filter(([name]) => !name.startsWith('access-control-'));
  return { ...answer, headers: { ...Object.fromEntries(own), ...corsHeaders(corsConfiguration, headers.origin) } };
}

async function invokeRoute(request: IncomingMessage, method: string, settings: RequestSettings): Promise<HttpAnswer> {
  const target = readTarget(request.url ?? '', settings.stageName);
  if (target === 'malformed') return gatewayAnswer(400, 'Bad Request');
  const match = target === 'elsewhere' ? undefined : settings.selectRoute(method, target.path);
  if (target === 'elsewhere' || match === undefined) return gatewayAnswer(404, 'Not Found');
  const body = await readBody(request);
  if (body === undefined) return gatewayAnswer(413, 'Request Entity Too Large');
  const event = buildHttpEvent({ ...settings, ...target, request, body, match, now: new Date() });
  const result = await invokeInTime(match.route.invoke, event, Math.min(match.route.timeoutMs, MAXIMUM_TIMEOUT_MS));
  return result === undefined ? gatewayAnswer(503, 'Service Unavailable') : toHttpAnswer(result);
}

/** The path is decoded before the route is chosen, so an encoded slash separates like a plain one. A named stage is the first segment. */
function readTarget(url: string, stageName: string): { path: string; rawQueryString: string } | 'malformed' | 'elsewhere' {
  const questionMark = url.indexOf('?');
  const encodedPath = questionMark < 0 ? url : url.slice(0, questionMark);
  const rawQueryString = questionMark < 0 ? '' : url.slice(questionMark + 1);
  let path: string;
  try {
    path = decodeURIComponent(encodedPath);
  } catch {
    return 'malformed';
  }
  if (!path.startsWith('/')) return 'malformed';
  if (stageName === '$default') return { path, rawQueryString };
  if (path !== `/${stageName}` && !path.startsWith(`/${stageName}/`)) return 'elsewhere';
  return { path: path.slice(stageName.length + 1) || '/', rawQueryString };
}

/** Undefined when the time is over. The invocation goes on without us, as it does in AWS; its result is dropped. */
async function invokeInTime(invoke: Invoke, event: unknown, timeoutMs: number): Promise<InvocationResult | undefined> {
  const timeOver = Promise.withResolvers<undefined>();
  const timer = setTimeout(timeOver.resolve, timeoutMs, undefined);
  try {
    return await Promise.race([invoke(event), timeOver.promise]);
  } finally {
    clearTimeout(timer);
  }
}
