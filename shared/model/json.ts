/** What one value may weigh as JSON text, so that it fits a row and an event. */
export const MAX_JSON_BYTES = 256 * 1024;

/** How deep lists and objects may be nested: beyond what anybody writes, and far below the few thousand at which a stack (ours or Postgres's) ends. */
export const MAX_JSON_DEPTH = 200;

const TOO_DEEP = `it is nested more than ${MAX_JSON_DEPTH} levels deep: make it flatter`;

/**
 * The JSON text of a value, or the reason why it has none that can be stored: cyclic values, big integers, NUL characters
 * and halves of surrogate pairs (which Postgres refuses inside jsonb), what is too large and what is nested too deep.
 */
export function toStorableJson(value: unknown, maxBytes = MAX_JSON_BYTES): { text: string } | { problem: string } {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    // The parser of JSON text needs no stack for depth, but the writer does.
    if (error instanceof RangeError && error.message.includes('call stack')) return { problem: TOO_DEEP };
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
  return measureDepth(text) > MAX_JSON_DEPTH ? { problem: TOO_DEEP } : { text };
}

/** How deep the lists and objects of a JSON text are nested. It reads the text once and needs no stack, however deep that is. */
function measureDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (isInString && character === '\\') index++;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && (character === '[' || character === '{')) deepest = Math.max(deepest, ++depth);
    else if (!isInString && (character === ']' || character === '}')) depth--;
  }
  return deepest;
}

/** Text as Postgres can store it, cut to a length that is still useful to read. */
export function toStorableText(text: string, maxLength: number): string {
  const cut = text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
  // After the cut, which may go through the middle of a character.
  return cut.replaceAll('\u0000', '\uFFFD').toWellFormed();
}
