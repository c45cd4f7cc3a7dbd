import { NonRetryableError } from '../errors.ts';
import { findUrlMistake, HEADER_VALUE, type HttpInput } from './http-input.ts';
import { describeReference, readReference, type SecretReference } from './secret-reference.ts';

export interface PreparedRequest {
  method: string;
  url: URL;
  /** The URL as people may see it: no query, which may hold a token, and nothing at all of one that is a secret. */
  shownUrl: string;
  /** By lower-case name. */
  headers: Record<string, string>;
  /** The headers that are for this origin alone. */
  secretHeaders: readonly string[];
  body: string | undefined;
}

export interface Prepared {
  request: PreparedRequest;
  /** Blots out the secrets of the request, wherever in an answer they turn up. */
  hide(text: string): string;
}

export interface PrepareRequest {
  idempotencyKey: string;
  signal: AbortSignal;
}

/** Shorter words occur everywhere; blotting them out would hide more than it protects. */
const LEAST_SECRET_LENGTH = 8;

/** Makes a request of an input, with the secrets it refers to. */
export async function prepareRequest(input: HttpInput, { idempotencyKey, signal }: PrepareRequest): Promise<Prepared> {
  const secrets: string[] = [];
  const read = async (reference: SecretReference) => {
    const value = (await readReference(reference, signal)).trim();
    secrets.push(value);
    return value;
  };
  const url = typeof input.url === 'string' ? input.url : await readUrl(input.url, read);
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(input.headers ?? {}))
    given[name.toLowerCase()] = typeof value === 'string' ? value : await readHeader(name, value, read);
  const secretHeaders = Object.entries(input.headers ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' ? [] : [name.toLowerCase()],
  );
  const { body } = input;
  const parsed = new URL(url);
  const request = {
    method: input.method ?? 'GET',
    url: parsed,
    shownUrl: typeof input.url === 'string' ? showUrl(parsed) : `the URL of ${describeReference(input.url)}`,
    headers: {
      'user-agent': 'waybill',
      accept: '*/*',
      ...(body === undefined ? {} : { 'content-type': typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json' }),
      'idempotency-key': idempotencyKey,
      ...given,
      'accept-encoding': 'identity',
    },
    secretHeaders,
    body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
  };
  return { request, hide: hiding(secrets) };
}

export function showUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

type Read = (reference: SecretReference) => Promise<string>;

async function readUrl(reference: SecretReference, read: Read): Promise<string> {
  const url = await read(reference);
  const mistake = findUrlMistake(url);
  if (mistake) throw new NonRetryableError(`what ${describeReference(reference)} holds ${mistake}`);
  return url;
}

async function readHeader(name: string, reference: SecretReference & { prefix?: string }, read: Read): Promise<string> {
  const value = `${reference.prefix ?? ''}${await read(reference)}`;
  if (HEADER_VALUE.test(value)) return value;
  throw new NonRetryableError(
    `what ${describeReference(reference)} holds cannot be sent as header '${name}': it has a character that is not allowed there`,
  );
}

/** Also in parts: an answer may repeat a token without the word in front of it. And as it looks inside JSON. */
function hiding(secrets: string[]): Prepared['hide'] {
  const words = secrets.flatMap((secret) => [secret, ...secret.split(/\s+/)]).filter((word) => word.length >= LEAST_SECRET_LENGTH);
  const ordered = [...new Set(words.flatMap((word) => [word, JSON.stringify(word).slice(1, -1)]))].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((hidden, word) => hidden.replaceAll(word, '[redacted]'), text);
}
