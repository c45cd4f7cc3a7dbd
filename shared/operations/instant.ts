/** An instant as the API writes it: ISO 8601 in UTC. Postgres gives dates in rows and text inside its own JSON. */
export function toInstant(value: Date | string): string;
export function toInstant(value: Date | string | null): string | null;
export function toInstant(value: Date | string | null): string | null {
  return value === null ? null : new Date(value).toISOString();
}
