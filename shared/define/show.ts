/** A value as a message shows it: text in quotes, anything long cut short. */
export function show(value: unknown): string {
  const text = typeof value === 'string' ? `'${value}'` : typeof value === 'object' ? toText(value) : String(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function toText(value: object | null): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
