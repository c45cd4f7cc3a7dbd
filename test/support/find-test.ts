/** A call of `describe` or `it` with everything in it, as lines of formatted source. */
interface Block {
  kind: 'describe' | 'it';
  /** Up to the function that it runs: its title, and the table of which it is made. */
  head: string;
  body: string[];
}

/** What formatted source begins such a call with. One that is skipped, left to do, or expected to fail proves nothing and is not found. */
const BEGINNING = /^(\s*)(describe|it)((?:\.(?:each|for|concurrent|sequential)\b)*)[<(]/;

/**
 * Whether a file has a test that runs under this title: its parts, from the outermost `describe` to the `it`, each inside the one before. A part is spelled in the call itself or in a row of
 * its table. The source is read by its indentation, which the formatter keeps, because nothing here can parse it.
 */
export function hasTest(source: string, title: string): boolean {
  const lines = source.split('\n');
  const tables = findTables(lines);
  const find = (within: string[], [part, ...rest]: string[]): boolean =>
    findBlocks(within).some(({ kind, head, body }) => {
      if (!isNamed(head, part!, tables)) return false;
      return rest.length ? kind === 'describe' && find(body, rest) : kind === 'it';
    });
  return find(lines, title.split(' › '));
}

function isNamed(head: string, part: string, tables: Map<string, string>): boolean {
  const isSpelledIn = (text: string) =>
    ["'", '"', '`'].some((quote) =>
      text
        .split(`${quote}${part}${quote}`)
        .slice(0, -1)
        .some((before) => /[([{:\n]\s*$/.test(before)),
    );
  const table = /\.(?:each|for)(?:<.*?>)?\((\w+)[).]/s.exec(head)?.[1];
  return isSpelledIn(head) || (table !== undefined && isSpelledIn(tables.get(table) ?? ''));
}

/** The calls that are not inside of another: each ends at the first line of its own indentation that ends a statement. */
function findBlocks(lines: string[]): Block[] {
  const blocks: Block[] = [];
  const indentation = Math.min(...lines.filter((line) => line.trim()).map(indentationOf));
  for (let start = 0; start < lines.length; start++) {
    const [, indent, kind] = BEGINNING.exec(lines[start]!) ?? [];
    if (indent?.length !== indentation) continue;
    const end = findEnd(lines, start);
    const block = lines.slice(start, end + 1);
    // The first arrow that is not one of a row in its table.
    const opening = block.findIndex(
      (line) => /=> [({]?$|=> .*;$/.test(line) && indentationOf(line) <= indentation + 2 && !/^\s*\[/.test(line),
    );
    const head = block.slice(0, opening + 1).join('\n');
    if (!/\bskip: true\b/.test(head)) blocks.push({ kind: kind as Block['kind'], head, body: block.slice(opening + 1, -1) });
    start = end;
  }
  return blocks;
}

/** The lists that a file declares under a name, whose rows may be tests. */
function findTables(lines: string[]): Map<string, string> {
  const tables = new Map<string, string>();
  for (const [start, line] of lines.entries()) {
    const name = /^\s*const (\w+)\b.* = \[$/.exec(line)?.[1];
    if (name) tables.set(name, lines.slice(start, findEnd(lines, start) + 1).join('\n'));
  }
  return tables;
}

function findEnd(lines: string[], start: number): number {
  const indentation = indentationOf(lines[start]!);
  const end = lines.findIndex((line, index) => index >= start && line.endsWith(';') && indentationOf(line) === indentation);
  return end < 0 ? lines.length - 1 : end;
}

function indentationOf(line: string): number {
  return line.length - line.trimStart().length;
}
