/**
 * A Postgres array as text, of values that need no quoting. Thousands of rows travel as arrays in a burst, and node-postgres looks through each element for what to
 * escape and writes instants in the local zone: a third of the manager's own time.
 */
export function arrayOf(values: readonly (number | boolean | Date | null)[]): string {
  return `{${values.map((value) => (value instanceof Date ? value.toISOString() : (value ?? 'null'))).join()}}`;
}
