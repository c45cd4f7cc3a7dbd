import { show } from '../model/show.ts';
import type { GroupDefinition } from './definition.ts';

/** One definition per group name. Several manifests may state settings of one group, as long as they agree. */
export function mergeGroups(stated: GroupDefinition[]): { groups: GroupDefinition[]; mistakes: string[] } {
  const byName = [...Map.groupBy(stated, ({ name }) => name)].map(([name, group]) => ({ name, fields: collectFields(group) }));
  return {
    groups: byName.map(({ name, fields }) => ({ name, ...Object.fromEntries(fields.map(([field, [value]]) => [field, value])) })),
    mistakes: byName.flatMap(({ name, fields }) =>
      fields
        .filter(([, values]) => values.length > 1)
        .map(([field, values]) => `group '${name}': ${field} is stated as ${values.slice(0, 3).map(show).join(' and as ')}; state it once`),
    ),
  };
}

/** The different values that are stated of each setting; one that nobody states is absent. */
function collectFields(group: GroupDefinition[]): [field: string, values: (number | boolean)[]][] {
  return (['priority', 'maxActiveJobs', 'isEnabled'] as const).flatMap((field) => {
    const values = [...new Set(group.map((one) => one[field]).filter((value) => value !== undefined))];
    return values.length ? [[field, values] as [string, (number | boolean)[]]] : [];
  });
}
