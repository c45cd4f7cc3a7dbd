/** Beyond this, one name is not a misspelling of another, however long they are. */
const mostTypos = 2;

/**
 * The name that was probably meant: at most two typing mistakes away, and one per four characters. Names that differ in their digits alone are siblings, not
 * misspellings: whoever writes `copy-2` does not mean `copy-1`.
 */
export function closestName(written: string, names: Iterable<string>): string | undefined {
  let closest: string | undefined;
  let fewest = Math.min(mostTypos, Math.floor(written.length / 4)) + 1;
  const wanted = written.toLowerCase();
  for (const name of names) {
    if (Math.abs(name.length - written.length) >= fewest) continue;
    const typos = countTypos(wanted, name.toLowerCase(), fewest - 1);
    if (typos < fewest && !areSiblings(written, name)) [closest, fewest] = [name, typos];
  }
  return closest;
}

function areSiblings(written: string, name: string): boolean {
  return written !== name && written.replace(/\d+/g, '0') === name.replace(/\d+/g, '0');
}

/**
 * The distance in characters added, dropped, replaced or swapped with their neighbour, or more than `most`. It leaves what both begin with aside, looks only where
 * the two could still meet, and gives up as soon as they cannot, so that going through thousands of names that share a prefix stays cheap.
 */
function countTypos(written: string, meant: string, most: number): number {
  const far = most + 1;
  if (Math.abs(written.length - meant.length) > most) return far;
  let shared = 0;
  while (shared < written.length && written[shared] === meant[shared]) shared++;
  const height = written.length - shared;
  const width = meant.length - shared;
  let beforeLast: number[] = [];
  let last = Array.from({ length: width + 1 }, (_, column) => column);
  let leastOfLast = 0;
  for (let line = 1; line <= height; line++) {
    const row = new Array<number>(width + 1).fill(far);
    if (line <= most) row[0] = line;
    let least = row[0]!;
    for (let column = Math.max(1, line - most); column <= Math.min(width, line + most); column++) {
      const here = shared + line - 1;
      const there = shared + column - 1;
      let typos = Math.min(last[column]! + 1, row[column - 1]! + 1, last[column - 1]! + (written[here] === meant[there] ? 0 : 1));
      if (line > 1 && column > 1 && written[here] === meant[there - 1] && written[here - 1] === meant[there])
        typos = Math.min(typos, beforeLast[column - 2]! + 1);
      row[column] = typos;
      least = Math.min(least, typos);
    }
    // A swap reaches back over one row, so one row alone that is too far decides nothing.
    if (least > most && leastOfLast > most) return far;
    [beforeLast, last, leastOfLast] = [last, row, least];
  }
  return Math.min(last[width]!, far);
}
