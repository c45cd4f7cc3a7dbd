import pg from 'pg';

const { INT8, TIMESTAMPTZ } = pg.types.builtins;
const parseInstant: (text: string) => Date | number = pg.types.getTypeParser(TIMESTAMPTZ, 'text');

let last: { text: string; time: number } | undefined;

/** Rows that are due together share their instants, and to read one is the dearest thing about a row: the same again is not read again. Infinity is no date and is told as it is. */
function readInstant(text: string): Date | number {
  if (last?.text !== text) {
    const instant = parseInstant(text);
    if (!(instant instanceof Date)) return instant;
    last = { text, time: instant.getTime() };
  }
  return new Date(last.time);
}

const parsers: Record<number, (text: string) => unknown> = {
  // Counts and identity ids stay far below 2^53, where numbers are exact.
  [INT8]: Number,
  [TIMESTAMPTZ]: readInstant,
};

/** How our connections read columns. It is theirs alone: an executor shares node-postgres with workflows that have connections of their own. */
export const columnTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => (format !== 'binary' && parsers[oid]) || pg.types.getTypeParser(oid, format),
};
