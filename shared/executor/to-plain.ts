const DEEPEST = 6;
const MOST_ITEMS = 100;
const MOST_OBJECTS = 2_000;

/**
 * A copy of any value that JSON can write, with every text put through `text` while it is still whole. Nothing in it can raise: what cannot be read, or is too deep, too
 * many or its own part, is named in its place.
 */
export function toPlain(value: unknown, text: (value: string) => string): unknown {
  const path = new Set<object>();
  let objectCount = 0;

  function copy(original: unknown): unknown {
    if (typeof original === 'string') return text(original);
    if (typeof original === 'bigint' || typeof original === 'symbol') return text(String(original));
    if (typeof original === 'function') return '[function]';
    if (typeof original !== 'object' || original === null) return original;
    if (path.has(original)) return '[circular]';
    if (path.size >= DEEPEST || ++objectCount > MOST_OBJECTS) return '[left out]';
    path.add(original);
    try {
      return copyObject(original);
    } catch {
      return '[unreadable]';
    } finally {
      path.delete(original);
    }
  }

  function copyObject(original: object): unknown {
    if (Array.isArray(original)) return original.slice(0, MOST_ITEMS).map(copy);
    if (original instanceof Map || original instanceof Set) return [...original].slice(0, MOST_ITEMS).map(copy);
    if (ArrayBuffer.isView(original)) return `[${original.byteLength} bytes]`;
    // An error's own texts are not enumerable, and JSON would leave them out.
    const names = original instanceof Error ? ['name', 'message', 'stack', 'cause', ...Object.keys(original)] : Object.keys(original);
    const { toJSON } = original as { toJSON?: unknown };
    if (typeof toJSON === 'function') return copy(toJSON.call(original, ''));
    const pairs = names.slice(0, MOST_ITEMS).map((name) => [text(name), copy(readProperty(original, name))]);
    return Object.fromEntries(pairs.filter(([, part]) => part !== undefined));
  }

  return copy(value);
}

export function readProperty(from: object, name: string): unknown {
  try {
    return (from as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}
