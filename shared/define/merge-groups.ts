import type { GroupDefinition } from './definition.ts';

/** One definition per group name. Several manifests may state settings of one group, as long as they agree. */
export function mergeGroups(stated: GroupDefinition[]): { groups: GroupDefinition[]; mistakes: string[] } {
  const groups = new Map<string, GroupDefinition>();
  const mistakes: string[] = [];
  for (const group of stated) {
    const known = groups.get(group.name) ?? { name: group.name };
    for (const field of ['priority', 'maxActiveJobs', 'isEnabled'] as const) {
      if (group[field] === undefined || known[field] === undefined || group[field] === known[field]) continue;
      mistakes.push(`group '${group.name}': ${field} is stated as ${known[field]} and as ${group[field]}; state it once`);
    }
    groups.set(group.name, { ...known, ...group });
  }
  return { groups: [...groups.values()], mistakes };
}
