import type { AnyDeclaration } from './declaration.ts';
import { isName, NAME_RULE } from './find-manifest-mistakes.ts';
import { findRepeated } from './list-problems.ts';

/**
 * A batch owns every id that begins with its name and a dash, and prunes those that are gone from its list: no other batch and no single manifest may be called
 * so, or it would be one batch's item today and nobody's tomorrow.
 */
export function findBatchMistakes(batches: string[], declarations: AnyDeclaration[]): string[] {
  const names = new Set(batches);
  const singles = declarations.filter(({ batch }) => batch === undefined).map(({ manifest }) => manifest.externalId);
  return [
    ...[...names].filter((name) => !isName(name)).map((name) => `batch name '${name}' ${NAME_RULE}`),
    ...findRepeated(batches).map((twice) => `batch '${twice}' is declared twice; names must be unique`),
    ...[...names].flatMap((name) => {
      const other = findBatchOf(name, names);
      return other === undefined
        ? []
        : [`batch '${name}' lies inside batch '${other}', which owns all ids that begin with '${other}-'; rename one`];
    }),
    ...singles.flatMap((id) => {
      const owner = findBatchOf(id, names);
      return owner === undefined
        ? []
        : [`manifest '${id}' is not in batch '${owner}', which owns all ids that begin with '${owner}-'; rename one`];
    }),
  ];
}

/** The batch whose name and a dash an id begins with; the outermost, if there are several. */
export function findBatchOf(id: string, batches: ReadonlySet<string>): string | undefined {
  if (!batches.size || typeof id !== 'string') return undefined;
  for (let dash = id.indexOf('-'); dash !== -1; dash = id.indexOf('-', dash + 1)) {
    const name = id.slice(0, dash);
    if (batches.has(name)) return name;
  }
  return undefined;
}
