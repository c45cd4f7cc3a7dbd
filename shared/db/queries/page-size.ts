import { type Sql, sql } from '../sql.ts';

/**
 * A page ends early once its inputs and outputs exceed this, because a function may answer with 6 MB at most. The row that
 * exceeds it is still included, so a page is never empty while there is more.
 */
export const PAGE_BYTES = 3 * 1024 * 1024;

/**
 * What a value weighs on its way: the answer's body is a text inside of JSON, where every quote and backslash takes two characters. An input that is itself full of them, a path
 * of Windows or JSON kept as text, weighs up to twice what its row holds.
 */
export function sentBytes(json: Sql): Sql {
  return sql`coalesce(octet_length(to_json((${json})::text)::text), 0)`;
}

/** The same for text that becomes JSON only in the answer. */
export function sentTextBytes(text: Sql): Sql {
  return sentBytes(sql`to_json(${text})`);
}

/** Rows of a page, and whether others follow. */
export interface RowPage<Row> {
  rows: Row[];
  hasMore: boolean;
}

/** `found_count` is what the statement found when asked for one row more than the page holds. */
export function toRowPage<Row extends { found_count: number }>(found: Row[], limit: number): RowPage<Row> {
  const rows = found.slice(0, limit);
  return { rows, hasMore: rows.length < (found[0]?.found_count ?? 0) };
}
