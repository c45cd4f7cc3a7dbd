import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { Call } from './declaration.ts';

export type ItemCall = Call & { batch: string };

/** One call per item of a batch. Items that cannot be named are reported by their place in the list and left out. */
export function readItems(
  workflow: AnyWorkflow,
  batch: string,
  items: readonly object[],
  options: object,
): { calls: ItemCall[]; mistakes: string[] } {
  if (!Array.isArray(items))
    return { calls: [], mistakes: [`batch '${batch}': its items must be a list of { id, input }, got ${show(items)}`] };
  const calls: ItemCall[] = [];
  const mistakes: string[] = [];
  if ((options as { dependsOn?: unknown })?.dependsOn !== undefined)
    mistakes.push(`batch '${batch}': dependsOn is not for a batch; say it of each item`);
  for (const [index, item] of (items as readonly unknown[]).entries()) {
    const { id, input, ...own } = (item ?? {}) as { id?: unknown; input?: unknown };
    if (typeof id === 'string' && id !== '') {
      calls.push({ workflow, externalId: `${batch}-${id}`, input, options: override(options, own), batch });
    } else {
      mistakes.push(
        `batch '${batch}': item ${index + 1} must have an id, a text that is not empty, got ${show(typeof item === 'object' && item ? id : item)}`,
      );
    }
  }
  return { calls, mistakes };
}

/** What an item says goes before what its batch says, option by option; what is undefined was not said. */
function override(options: object, own: object): object {
  return { ...options, ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined)) };
}
