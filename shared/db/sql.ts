/** A statement with its values apart from its text: what an `sql` template evaluates to, and all that {@link Db} takes. */
export interface Sql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * Writes a statement in which every hole becomes `$n`, so a value can never become SQL.
 * A hole that is itself an `sql` fragment is spliced in, its own holes renumbered.
 */
export function sql(strings: TemplateStringsArray, ...holes: unknown[]): Sql {
  const values: unknown[] = [];
  let text = strings[0] ?? '';
  holes.forEach((hole, index) => {
    text += isSql(hole) ? splice(hole, values) : `$${values.push(hole)}`;
    text += strings[index + 1] ?? '';
  });
  return new Statement(text, values);
}

class Statement implements Sql {
  readonly text: string;
  readonly values: readonly unknown[];
  constructor(text: string, values: readonly unknown[]) {
    this.text = text;
    this.values = values;
  }
}

/** Only what the tag itself made counts: a JSON value from outside with `text` and `values` is data. */
function isSql(hole: unknown): hole is Sql {
  return hole instanceof Statement;
}

function splice(fragment: Sql, values: unknown[]): string {
  const offset = values.length;
  values.push(...fragment.values);
  return fragment.text.replace(/\$(\d+)/g, (_, n: string) => `$${Number(n) + offset}`);
}
