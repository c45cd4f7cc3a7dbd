import type { Declaration } from '../define/declaration.ts';
import type { ManifestDefinition, ScheduleDefinition } from '../define/definition.ts';
import type { RuntimeManifest, RuntimeSchedule } from '../define/read-runtime-manifest.ts';

/** A declaration in the words of the API. What is undefined is not sent. */
export function toRuntimeManifest({ manifest, group }: Pick<Declaration, 'manifest' | 'group'>): RuntimeManifest {
  const { externalId, workflow, input, schedule, misfire, exclusions, group: _, ...policies } = manifest;
  return {
    externalId,
    workflow,
    input,
    schedule: toSchedule(schedule),
    group,
    misfire: toMisfire(misfire),
    exclude: exclusions,
    ...policies,
  };
}

function toSchedule(schedule: ScheduleDefinition): RuntimeSchedule {
  switch (schedule.type) {
    case 'cron':
      return { type: 'cron', cron: schedule.expression, timeZone: schedule.timeZone };
    case 'dormant_dependent':
      return { type: 'dormant_dependent', dependsOn: schedule.dependsOn };
    case 'dependent':
      return { type: 'dependent', dependsOn: schedule.dependsOn, mode: schedule.mode };
    default:
      return schedule;
  }
}

function toMisfire(misfire: ManifestDefinition['misfire']): RuntimeManifest['misfire'] {
  if (misfire === undefined) return undefined;
  return misfire.policy === 'fire_all' ? { fireAll: misfire.limit! } : misfire.policy;
}
