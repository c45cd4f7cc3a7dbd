import { InvalidInputError } from '../../shared/errors.ts';
import { ProblemError } from '../middleware/problem-details.ts';
import { readParameters } from './read-parameters.ts';
import type { Request } from './route.ts';

/** Takes a field's value, or throws what was received and what is allowed. */
type ReadField<Value> = (value: unknown, name: string) => Value;
type Fields<Readers> = { [Name in keyof Readers]?: Readers[Name] extends ReadField<infer Value> ? Value : never };

/** Twice what an input may weigh when stored: escapes and white space make the same input longer on its way. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * The fields of a command's JSON body; no body at all is an empty one. A field that is unknown is refused, as is any parameter in the query: a misspelt
 * `delaySeconds` must not mean "now". Ranges are left to the operation, which every caller passes.
 */
export function readBody<Readers extends Record<string, ReadField<unknown>>>(
  request: Request,
  readers: Readers,
  { maxBytes = MAX_BODY_BYTES } = {},
): Fields<Readers> {
  const given = readObject(request, { maxBytes });
  const allowed = Object.keys(readers);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(readers, name));
  if (unknown.length) {
    const names = unknown.slice(0, 5).map((name) => `'${name.slice(0, 100)}'`);
    throw invalid(`the body has fields that are unknown here: ${names.join(', ')}; allowed are ${allowed.join(', ') || 'none'}`);
  }
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, readers[name]!(value, name)])) as Fields<Readers>;
}

/** A body whose fields are the operation's to judge, since every caller passes it the same ones. */
export function readObject(request: Request, { maxBytes = MAX_BODY_BYTES } = {}): Record<string, unknown> {
  readParameters(request.query, {});
  return parseBody(request, maxBytes);
}

function parseBody({ body, headers }: Request, maxBytes: number): Record<string, unknown> {
  if (!body) return {};
  const mediaType = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  if (mediaType !== 'application/json') {
    const received = mediaType ? `'${mediaType.slice(0, 100)}'` : 'no content type';
    throw new ProblemError(415, 'unsupported_media_type', `the body has ${received}: send JSON, with content-type application/json`);
  }
  if (body.byteLength > maxBytes)
    throw new ProblemError(413, 'body_too_large', `the body has ${body.byteLength} bytes: at most ${maxBytes} are allowed`);
  const value = parseJson(body);
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalid(`the body must be a JSON object, got ${describe(value)}`);
  return value as Record<string, unknown>;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    const cause = error instanceof SyntaxError ? error.message.slice(0, 200) : 'it is not UTF-8';
    throw new InvalidInputError('invalid_json', `the body is not JSON: ${cause}`);
  }
}

/** Any JSON value; whether it can be stored is the operation's question. */
export const json: ReadField<unknown> = (value) => value;

export const number: ReadField<number> = (value, name) => {
  if (typeof value !== 'number') throw invalid(`${name} must be a number, got ${describe(value)}`);
  return value;
};

export const numberOrNull: ReadField<number | null> = (value, name) => {
  if (value !== null && typeof value !== 'number') throw invalid(`${name} must be a number or null, got ${describe(value)}`);
  return value;
};

export const boolean: ReadField<boolean> = (value, name) => {
  if (typeof value !== 'boolean') throw invalid(`${name} must be true or false, got ${describe(value)}`);
  return value;
};

/** Text that a row can hold. */
export function textUpTo(maxLength: number): ReadField<string> {
  return (value, name) => {
    if (typeof value !== 'string') throw invalid(`${name} must be text, got ${describe(value)}`);
    if (value.length > maxLength) throw invalid(`${name} has ${value.length} characters: at most ${maxLength} are allowed`);
    if (value.includes('\0')) throw invalid(`${name} contains the character U+0000, which cannot be stored: leave it out`);
    if (!value.isWellFormed()) throw invalid(`${name} contains half of a surrogate pair: cut text between characters`);
    return value;
  };
}

export const texts: ReadField<string[]> = (value, name) => {
  if (!Array.isArray(value)) throw invalid(`${name} must be a list of texts, got ${describe(value)}`);
  const other = value.find((item) => typeof item !== 'string');
  if (other !== undefined) throw invalid(`${name} must be a list of texts, got one with ${describe(other)}`);
  return value;
};

/** Never writes out what is nested: that may be deeper than the stack. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError('invalid_request', message);
}
