import { InvalidInputError } from '../errors.ts';

/** A part of a list, and where the next part begins. A page may hold less than was asked for even when more follows. */
export interface Page<Item> {
  items: Item[];
  nextCursor: string | null;
}

/**
 * Where a list goes on: the key of the last row shown, so that rows which come or go meanwhile neither shift nor repeat
 * others. It names its list, because a key of one is nonsense in another.
 */
export function writeCursor(list: string, key: string): string {
  return Buffer.from(`${list}:${key}`).toString('base64url');
}

/** The key inside a cursor that {@link writeCursor} made; whatever else was given is refused. */
export function readCursor(list: string, cursor: string, isKey: (key: string) => boolean): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  const key = text.slice(list.length + 1);
  if (!text.startsWith(`${list}:`) || !isKey(key) || writeCursor(list, key) !== cursor) {
    throw new InvalidInputError(
      'invalid_request',
      `cursor '${cursor.slice(0, 100)}' is malformed: give the nextCursor of the previous page of this list, or none to begin`,
    );
  }
  return key;
}

/** Whether the text is an id that the database could have handed out: a positive 64-bit integer in its only spelling. */
export function isId(text: string): boolean {
  return /^[1-9][0-9]{0,18}$/.test(text) && BigInt(text) < 2n ** 63n;
}

export function isExternalId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(text);
}

/** Whether the text can be the name of a group or a workflow: 1 to 200 characters that a row can hold. What cannot be one names nothing. */
export function isName(text: string): boolean {
  return text.length >= 1 && text.length <= 200 && !text.includes('\0') && text.isWellFormed();
}
