/** What one value may weigh as JSON text, so that it fits a row and an event. */
export const MAX_JSON_BYTES = 256 * 1024;

/**
 * The JSON text of a value, or the reason why it has none that can be stored: cyclic values, big integers, NUL characters
 * and halves of surrogate pairs (which Postgres refuses inside jsonb) and what is too large.
 */
export function toStorableJson(value: unknown, maxBytes = MAX_JSON_BYTES): { text: string } | { problem: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    return { problem: `it is not JSON: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}` };
  }
  if (text === undefined) return { text: 'null' };
  if (/(?<!\\)(?:\\\\)*\\u0000/.test(text)) return { problem: 'it contains the character \\u0000, which cannot be stored' };
  // Pairs are written as they are; an escape of this range is a half on its own.
  if (/(?<!\\)(?:\\\\)*\\ud[89a-f]/.test(text))
    return { problem: 'it contains half of a surrogate pair, which cannot be stored: cut text between characters' };
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    return { problem: `it is ${bytes} bytes of JSON, at most ${maxBytes} are allowed: store it elsewhere and return its key` };
  return { text };
}

/** Text as Postgres can store it, cut to a length that is still useful to read. */
export function toStorableText(text: string, maxLength: number): string {
  const cut = text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
  // After the cut, which may go through the middle of a character.
  return cut.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
