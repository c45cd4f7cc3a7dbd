import { show } from '../model/show.ts';
import type { GroupDefinition, JobDefinition, ScheduleDefinition } from './definition.ts';
import { findGroupMistakes, findManifestMistakes, isName, NAME_RULE } from './find-manifest-mistakes.ts';
import { isWorkflowName } from './find-workflow-mistakes.ts';
import type { TimedOptions } from './options.ts';
import { readOptions } from './read-options.ts';

/** A schedule in the words in which one is read from the API. */
export type RuntimeSchedule =
  | { type: 'cron'; cron: string; timeZone?: string }
  | { type: 'interval'; intervalSeconds: number; anchor?: 'occurrence' | 'completion' }
  | { type: 'once'; runAt: string }
  | { type: 'dependent'; dependsOn: string | string[]; mode?: 'all' | 'any' }
  | { type: 'dormant_dependent'; dependsOn: string | string[] }
  | { type: 'none' };

/** A manifest that is declared at run time: as JSON, with the options of the builder. */
export interface RuntimeManifest extends TimedOptions {
  externalId: string;
  workflow: string;
  input?: unknown;
  schedule: RuntimeSchedule;
}

export interface ReadManifest {
  manifest: JobDefinition;
  group: GroupDefinition;
  problems: string[];
}

const scheduleFields: Record<ScheduleDefinition['type'], readonly string[]> = {
  cron: ['cron', 'timeZone'],
  interval: ['intervalSeconds', 'anchor'],
  once: ['runAt'],
  dependent: ['dependsOn', 'mode'],
  dormant_dependent: ['dependsOn'],
  none: [],
};

/** Makes a definition of what came from outside, with everything that is wrong with it as far as it can be judged by itself: the same rules as for an app. */
export function readRuntimeManifest(given: unknown): ReadManifest {
  const {
    externalId,
    workflow,
    input = {},
    schedule: givenSchedule,
    ...options
  } = (isObject(given) ? given : {}) as Record<string, unknown>;
  const { schedule, problems } = readSchedule(givenSchedule);
  const read = readOptions('timed', options, typeof externalId === 'string' ? externalId : show(externalId));
  const manifest = { externalId, workflow, input, group: read.group.name, schedule, ...read.policies } as JobDefinition;
  return {
    manifest,
    group: read.group,
    problems: [
      ...(isObject(given) ? [] : [`it must be an object, got ${show(given)}`]),
      ...(isWorkflowName(workflow) ? [] : [`its workflow ${show(workflow)} ${NAME_RULE}`]),
      ...problems,
      ...read.problems,
      ...findManifestMistakes(manifest),
      ...findGroupMistakes(read.group),
    ],
  };
}

function readSchedule(given: unknown): { schedule: ScheduleDefinition; problems: string[] } {
  const { type, ...fields } = (isObject(given) ? given : {}) as Record<string, unknown>;
  const types = Object.keys(scheduleFields);
  if (typeof type !== 'string' || !types.includes(type)) {
    const received = isObject(given) ? `type ${show(type)}` : show(given);
    return { schedule: { type: 'none' }, problems: [`its schedule must be an object with a type of ${types.join(', ')}, got ${received}`] };
  }
  const known = type as ScheduleDefinition['type'];
  const allowed = scheduleFields[known];
  const surplus = Object.keys(fields).filter((name) => fields[name] !== undefined && !allowed.includes(name));
  const problems = surplus.map(
    (name) => `schedule.${name} is not for a schedule of type '${known}'; allowed are ${allowed.join(', ') || 'none'}`,
  );
  const read = readFields(known, fields);
  return { schedule: read.schedule, problems: [...problems, ...read.problems] };
}

/** What is missing or of another type is judged with the rules of its field, where they can take it. */
function readFields(
  type: ScheduleDefinition['type'],
  fields: Record<string, unknown>,
): { schedule: ScheduleDefinition; problems: string[] } {
  switch (type) {
    case 'cron':
      return { schedule: { type, expression: fields.cron as string, timeZone: (fields.timeZone ?? 'UTC') as string }, problems: [] };
    case 'interval': {
      const anchor = (fields.anchor ?? 'occurrence') as 'occurrence';
      return { schedule: { type, intervalSeconds: fields.intervalSeconds as number, anchor }, problems: [] };
    }
    case 'once': {
      if (typeof fields.runAt === 'string') return { schedule: { type, runAt: fields.runAt }, problems: [] };
      return { schedule: { type: 'none' }, problems: [`schedule.runAt must be an instant as text, got ${show(fields.runAt)}`] };
    }
    case 'dependent':
    case 'dormant_dependent':
      return readParents(type, fields);
    case 'none':
      return { schedule: { type }, problems: [] };
  }
}

function readParents(type: 'dependent' | 'dormant_dependent', { dependsOn, mode }: Record<string, unknown>) {
  const parents = dependsOn === undefined ? [] : [dependsOn].flat();
  const named = parents.filter(isName);
  const problems = [
    ...parents
      .filter((parent) => !isName(parent))
      .map((parent) => `schedule.dependsOn must be an id or a list of ids, got ${show(parent)}`),
    ...(parents.length ? [] : ['it depends on nothing, so it would never run; name its parents in schedule.dependsOn']),
    ...(mode === undefined || mode === 'all' || mode === 'any' ? [] : [`schedule.mode must be 'all' or 'any', got ${show(mode)}`]),
  ];
  const schedule: ScheduleDefinition = { type, dependsOn: [...new Set(named)], mode: mode === 'any' ? 'any' : 'all' };
  return { schedule, problems };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
