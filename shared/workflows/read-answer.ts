import type { IncomingMessage } from 'node:http';
import { toStorableJson, toStorableText } from '../model/json.ts';

export interface HttpOutput {
  status: number;
  /** Those that were to be kept, by lower-case name. */
  headers: Record<string, string>;
  /** What JSON said, or text; null for what is neither. */
  body: unknown;
  /** The body was longer than what was kept of it. Then it is text, also if it began as JSON. */
  isTruncated: boolean;
}

export interface ReadAnswer {
  maxResponseBytes: number;
  keepHeaders: readonly string[];
  hide(text: string): string;
}

/** Reads as much of an answer as is to be kept, and ends its connection. What comes out can be stored, whatever was sent: the request has had its effect already. */
export async function readAnswer(response: IncomingMessage, { maxResponseBytes, keepHeaders, hide }: ReadAnswer): Promise<HttpOutput> {
  const { bytes, isCut } = await readBytes(response, maxResponseBytes);
  const contentType = response.headers['content-type'] ?? '';
  const isEncoded = !['', 'identity'].includes(response.headers['content-encoding'] ?? '');
  const decoded = isEncoded ? undefined : decode(bytes, contentType, isCut);
  const text = decoded === undefined ? undefined : hide(decoded);
  const kept = keepHeaders.map((name) => [name.toLowerCase(), response.headers[name.toLowerCase()]] as const);
  const headers = Object.fromEntries(
    kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, toStorableText(hide(String(value)), 8_192)]])),
  );
  const answer = { status: response.statusCode ?? 0, headers };
  if (text === undefined) return { ...answer, body: null, isTruncated: isCut };
  const parsed = isCut ? undefined : parseJson(text, contentType);
  return parsed ? { ...answer, body: parsed.value, isTruncated: false } : { ...answer, ...fitText(text, isCut) };
}

async function readBytes(response: IncomingMessage, most: number): Promise<{ bytes: Buffer; isCut: boolean }> {
  const chunks: Buffer[] = [];
  let length = 0;
  // Leaving the loop destroys the response, and with it the connection: the rest is not waited for.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.byteLength;
    if (length > most) return { bytes: Buffer.concat(chunks).subarray(0, most), isCut: true };
  }
  return { bytes: Buffer.concat(chunks), isCut: false };
}

/** Undefined if it is not text. A character that was cut in the middle is left out. */
function decode(bytes: Buffer, contentType: string, isCut: boolean): string | undefined {
  const [, charset = 'utf-8'] = /charset="?([\w-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** Undefined if it does not say that it is JSON, is none, or cannot be stored as such. */
function parseJson(text: string, contentType: string): { value: unknown } | undefined {
  if (!/^[\w.+-]+\/(?:[\w.-]+\+)?json\b/i.test(contentType)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return 'text' in toStorableJson(value, MAX_BODY_BYTES) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** Leaves room for the rest of the output. */
const MAX_BODY_BYTES = 220 * 1024;

/** As JSON a text may be six times as long as it is; half of it, as often as needed, fits. */
function fitText(text: string, isCut: boolean): Pick<HttpOutput, 'body' | 'isTruncated'> {
  let body = toStorableText(text, Number.POSITIVE_INFINITY);
  let isTruncated = isCut;
  while ('problem' in toStorableJson(body, MAX_BODY_BYTES)) {
    body = toStorableText(body.slice(0, body.length / 2), Number.POSITIVE_INFINITY);
    isTruncated = true;
  }
  return { body, isTruncated };
}
