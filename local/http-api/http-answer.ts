import type { InvocationResult } from '../lambda/invocation.ts';

export interface HttpAnswer {
  statusCode: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** API Gateway's own answers are all of this form. */
export function gatewayAnswer(statusCode: number, message: string): HttpAnswer {
  return { statusCode, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify({ message })) };
}

/** These describe the connection to the client, which is ours and not the function's. */
const CONNECTION_HEADERS = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding', 'upgrade']);

/** What the client gets for an invocation's result: a failed or unreadable one tells it nothing of the inside. */
export function toHttpAnswer(result: InvocationResult): HttpAnswer {
  if (result.status === 'throttled') return gatewayAnswer(503, 'Service Unavailable');
  if (result.status === 'failed') return gatewayAnswer(500, 'Internal Server Error');
  const { payload } = result;
  const answer = isStructured(payload) ? readStructured(payload) : inferAnswer(payload);
  return answer ?? gatewayAnswer(500, 'Internal Server Error');
}

interface Structured {
  statusCode: unknown;
  headers?: unknown;
  cookies?: unknown;
  body?: unknown;
  isBase64Encoded?: unknown;
}

function isStructured(payload: unknown): payload is Structured {
  return typeof payload === 'object' && payload !== null && 'statusCode' in payload;
}

/** Without a status code the whole payload is the body, as JSON; a string is taken as it is. */
function inferAnswer(payload: unknown): HttpAnswer {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload ?? null);
  return { statusCode: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) };
}

function readStructured({ statusCode, headers, cookies, body, isBase64Encoded }: Structured): HttpAnswer | undefined {
  const status = typeof statusCode === 'string' && /^\d{3}$/.test(statusCode) ? Number(statusCode) : statusCode;
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) return undefined;
  const headerList = readHeaders(headers ?? {});
  const text = body ?? '';
  if (headerList === undefined || typeof text !== 'string' || !isListOfStrings(cookies ?? [])) return undefined;
  if (Array.isArray(cookies) && cookies.length > 0) headerList['set-cookie'] = cookies;
  headerList['content-type'] ??= 'text/plain;charset=utf-8';
  return { statusCode: status, headers: headerList, body: Buffer.from(text, isBase64Encoded === true ? 'base64' : 'utf8') };
}

function readHeaders(headers: unknown): Record<string, string | string[]> | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return undefined;
  const list: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === null || value === undefined || CONNECTION_HEADERS.has(name.toLowerCase())) continue;
    if (typeof value === 'object') return undefined;
    list[name.toLowerCase()] = String(value);
  }
  return list;
}

function isListOfStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
