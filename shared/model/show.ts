/** A value as a message shows it: text in quotes, anything long cut short. What cannot be written out (it is cyclic, deeper than the stack, or has no text) is told by its kind. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : isNested(value) ? toText(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function isNested(value: unknown): value is object {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}

function toText(value: object): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    if (Array.isArray(value)) return 'a list';
    return typeof value === 'function' ? 'a function' : 'an object';
  }
}
