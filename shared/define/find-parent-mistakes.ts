import type { AnyWorkflow } from '../model/workflow.ts';
import { closestName } from './closest-name.ts';
import type { AnyDeclaration } from './declaration.ts';
import { findBatchOf } from './find-batch-mistakes.ts';
import { isName } from './find-manifest-mistakes.ts';
import type { Problem } from './list-problems.ts';
import type { ParentReference } from './options.ts';

/** Looking for what was meant takes time in proportion to the app: what so many comparisons do not find is refused by the database, when the app is deployed. */
const mostComparisons = 200_000;

/**
 * Parents that cannot exist. One that this app does not declare may belong to another, and sync asks the database for it; but not if it names one of this app's
 * workflows or lies in one of its batches, nor if it is no id at all. A bare id that is all but one of this app's is taken for a misspelling.
 */
export function findParentMistakes(declarations: AnyDeclaration[], known: ReadonlyMap<string, AnyWorkflow>, batches: string[]): Problem[] {
  const declared = new Map(declarations.map((declaration) => [declaration.manifest.externalId, declaration]));
  const names = new Set(batches);
  const meant = new Map<string, string | undefined>();
  const suggest = (id: string) => {
    if (!meant.has(id) && meant.size * declared.size < mostComparisons) meant.set(id, closestName(id, declared.keys()));
    return meant.get(id);
  };

  function judge(parent: ParentReference): string | undefined {
    const { externalId: id, workflow } = typeof parent === 'string' ? { externalId: parent } : parent;
    const found = declared.get(id);
    if (found) {
      if (!workflow || workflow.name === found.workflow?.name) return undefined;
      if (found.steps)
        return `its parent '${id}' is a plan, but the handle is of workflow '${workflow.name}'; say '${id}' or { externalId: '${id}' }`;
      return `its parent '${id}' runs workflow '${found.workflow?.name}', but the handle is of workflow '${workflow.name}'`;
    }
    const batch = findBatchOf(id, names);
    const isOurs = !isName(id) || (workflow !== undefined && known.has(workflow.name));
    const closest = suggest(id);
    const hint = closest ? `; did you mean '${closest}'?` : '';
    if (batch !== undefined) return `its parent '${id}' does not exist: batch '${batch}' has no such item${hint}`;
    if (isOurs) return `its parent '${id}' does not exist${hint || "; correct 'dependsOn' or declare it"}`;
    if (!closest || typeof parent !== 'string') return undefined;
    return `its parent '${id}' does not exist${hint} If it belongs to another app, say { externalId: '${id}' }`;
  }

  return declarations.flatMap(({ manifest: { externalId }, batch, parents }) =>
    parents.map(judge).flatMap((problem) => (problem ? [{ externalId, batch, problem }] : [])),
  );
}
