import { InvalidInputError } from '../../shared/errors.ts';

/** Makes a value of a parameter's text, or throws what was received and what is allowed. */
type Read<Value> = (text: string, name: string) => Value;
type Values<Readers> = { [Name in keyof Readers]?: Readers[Name] extends Read<infer Value> ? Value : never };

export const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/**
 * The query's parameters by name. An empty one counts as not given. An unknown or repeated one is refused: a filter that is
 * misspelt must not answer with everything.
 */
export function readParameters<Readers extends Record<string, Read<unknown>>>(query: URLSearchParams, readers: Readers): Values<Readers> {
  const values: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!read) throw invalid(`query parameter '${quote(name)}' is unknown: allowed are ${Object.keys(readers).join(', ') || 'none here'}`);
    const texts = query.getAll(name);
    if (texts.length > 1) throw invalid(`query parameter '${name}' was given ${texts.length} times: give it once`);
    const text = texts[0] ?? '';
    if (text !== '') values[name] = read(text, name);
  }
  return values as Values<Readers>;
}

/** Any text that Postgres can hold: it knows no character zero, and nothing we look up is longer than 200. */
export const text: Read<string> = (value, name) => {
  if (value.includes('\0')) throw invalid(`${name} '${quote(value)}' contains the character U+0000: leave it out`);
  if (value.length > 200) throw invalid(`${name} '${quote(value)}' has ${value.length} characters: give at most 200`);
  return value;
};

/** Checked where it is used, since only its list knows its keys. */
export const cursor: Read<string> = (value) => value;

export const limit: Read<number> = (value, name) => {
  const number = /^[0-9]{1,3}$/.test(value) ? Number(value) : 0;
  if (number < 1 || number > MAX_LIMIT)
    throw invalid(`${name} '${quote(value)}' is not allowed: give a whole number from 1 to ${MAX_LIMIT}`);
  return number;
};

export function oneOf<Value extends string>(allowed: readonly Value[]): Read<Value> {
  return (value, name) => {
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw invalid(`${name} '${quote(value)}' is unknown: allowed are ${allowed.join(', ')}`);
    return found;
  };
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError('invalid_request', message);
}

function quote(received: string): string {
  return received.length > 100 ? `${received.slice(0, 100)}…` : received;
}
