import { createHash } from 'node:crypto';
import type { PageFile } from './page-files.ts';
import type { Answer, Request } from './route.ts';

const NO_SNIFFING = { 'x-content-type-options': 'nosniff' };

/** Scripts and styles come from files of ours, and data from the API beside them: text that found its way into markup stays inert. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

/** JSON that is true for this moment only. 202 says that it will happen, 200 that it has. */
export function answerMoment(value: unknown, statusCode: 200 | 202 = 200): Answer {
  return {
    statusCode,
    headers: { ...NO_SNIFFING, 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** JSON that a screen asks for again and again: it is sent only when it differs from what the client has. */
export function answerLive(request: Request, value: unknown): Answer {
  const body = JSON.stringify(value);
  const headers = { ...NO_SNIFFING, 'content-type': 'application/json', 'cache-control': 'private, no-cache' };
  return answerUnlessKnown(request, entityTag(body), headers, body);
}

export function answerFile(request: Request, { body, contentType, tag }: PageFile): Answer {
  const headers = {
    ...NO_SNIFFING,
    'content-type': contentType,
    'cache-control': 'no-cache',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'referrer-policy': 'no-referrer',
  };
  return answerUnlessKnown(request, tag, headers, body);
}

export function entityTag(body: string): string {
  return `"${createHash('sha256').update(body).digest('base64url')}"`;
}

function answerUnlessKnown(request: Request, tag: string, headers: Record<string, string>, body: string): Answer {
  if (isKnown(request.headers['if-none-match'], tag)) return { statusCode: 304, headers: { ...headers, etag: tag } };
  return { statusCode: 200, headers: { ...headers, etag: tag }, body };
}

/** Compares weakly, as If-None-Match asks for: a proxy that compresses marks our tag as weak. */
function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((candidate) => candidate.trim().replace(/^W\//, ''));
  return known.includes(tag) || known.includes('*');
}
