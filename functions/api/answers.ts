import { createHash } from 'node:crypto';
import type { PageFile } from './page-files.ts';
import type { Answer, Request } from './route.ts';

const NO_SNIFFING = { 'x-content-type-options': 'nosniff' };

/** Scripts and styles come from files of ours, and data from the API beside them: text that found its way into markup stays inert. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'";

/** JSON that is true for this moment only. 202 says that it will happen, 200 that it has, 201 that it exists by now. */
export function answerMoment(value: unknown, statusCode: 200 | 201 | 202 = 200): Answer {
  return {
    statusCode,
    headers: { ...NO_SNIFFING, 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: JSON.stringify(value),
  };
}

/** JSON that a screen asks for again and again: it is sent only when it differs from what the client has. */
export function answerLive(request: Request, value: unknown): Answer {
  return answerTagged(request, value, entityTag);
}

/**
 * The same for something that has a version: its tag begins with it, so that a client can give back what it has read with a change. The tag as a whole still changes with
 * everything that is shown, of which the version is a small part.
 */
export function answerVersion(request: Request, value: { version: number }): Answer {
  return answerTagged(request, value, (body) => `"${value.version}-${entityTag(body).slice(1)}`);
}

function answerTagged(request: Request, value: unknown, tagOf: (body: string) => string): Answer {
  const body = JSON.stringify(value);
  const headers = { ...NO_SNIFFING, 'content-type': 'application/json', 'cache-control': 'private, no-cache' };
  return answerUnlessKnown(request, tagOf(body), headers, body);
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
