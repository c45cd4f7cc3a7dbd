import { show } from '../model/show.ts';
import { closestName } from './closest-name.ts';
import type { GroupDefinition, ManifestDefinition } from './definition.ts';
import type { DependentOptions, ManifestOptions, PlanStepOptions, TimedOptions } from './options.ts';

type OptionName = keyof ManifestOptions | keyof TimedOptions | keyof DependentOptions | keyof PlanStepOptions;

const anyManifest = ['group', 'priority', 'maxAttempts', 'backoff', 'timeoutSeconds', 'isEnabled', 'pool', 'expectWithinSeconds'] as const;
/** A plan is run by nobody: its steps have pools. */
const anyPlan = anyManifest.filter((name) => name !== 'pool');
const anyTimed = ['misfire', 'misfireThresholdSeconds', 'jitterSeconds', 'exclude'] as const;

/** What may be said of each kind. The compiler says the same, but nobody asks it when an app is run straight from its source. */
const allowedOptions = {
  timed: [...anyManifest, ...anyTimed],
  once: anyManifest,
  dependent: [...anyManifest, 'dependsOn', 'mode', 'dormant'],
  timedPlan: [...anyPlan, ...anyTimed],
  oncePlan: anyPlan,
  dependentPlan: [...anyPlan, 'dependsOn', 'mode'],
  step: ['group', 'maxAttempts', 'timeoutSeconds', 'isEnabled', 'pool', 'continueOnFailure'],
} satisfies Record<string, readonly OptionName[]>;

const kindNames: Record<Kind, string> = {
  timed: 'a timed manifest',
  once: 'a one-time run',
  dependent: 'a dependent',
  timedPlan: 'a timed plan',
  oncePlan: 'a one-time plan',
  dependentPlan: 'a dependent plan',
  step: 'a step',
};
const everyOption = new Set<string>(Object.values(allowedOptions).flat());

export type Kind = keyof typeof allowedOptions;

/** Options as the definition holds them, and what is wrong with them beyond their values, which are judged later. */
export interface ReadOptions {
  policies: Pick<ManifestDefinition, (typeof policyNames)[number] | 'misfire' | 'exclusions'>;
  group: GroupDefinition;
  problems: string[];
}

const policyNames = [
  'priority',
  'maxAttempts',
  'backoff',
  'timeoutSeconds',
  'isEnabled',
  'pool',
  'expectWithinSeconds',
  'misfireThresholdSeconds',
  'jitterSeconds',
] as const satisfies OptionName[];

/** An option that is undefined was not stated. One that its kind does not have is left out and reported. */
export function readOptions(kind: Kind, given: object, defaultGroup: string): ReadOptions {
  if (!isObject(given))
    return { policies: {}, group: { name: defaultGroup }, problems: [`its options must be an object, got ${show(given)}`] };
  const allowed: readonly OptionName[] = allowedOptions[kind];
  const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options = Object.fromEntries(Object.entries(stated).filter(([name]) => allowed.includes(name as OptionName))) as TimedOptions;
  const { exclude, misfire, backoff } = options;
  const group = readGroup(options.group, defaultGroup);
  const lateness = readMisfire(misfire);
  return {
    policies: {
      ...Object.fromEntries(policyNames.filter((name) => name in options).map((name) => [name, options[name]])),
      ...(lateness.misfire && { misfire: lateness.misfire }),
      ...(exclude !== undefined && { exclusions: exclude }),
    },
    group: group.group,
    problems: [
      ...Object.keys(stated).flatMap((name) => findOptionProblem(kind, name)),
      ...group.problems,
      ...lateness.problems,
      ...(backoff === undefined ? [] : findUnknownFields('backoff', backoff, ['initialSeconds', 'factor', 'maxSeconds', 'jitter'])),
    ],
  };
}

function findOptionProblem(kind: Kind, name: string): string[] {
  const allowed: readonly OptionName[] = allowedOptions[kind];
  if (allowed.includes(name as OptionName)) return [];
  if (everyOption.has(name)) return [`option '${name}' is not for ${kindNames[kind]}; allowed are ${allowed.join(', ')}`];
  return [`option '${name}' does not exist; ${suggest(name, allowed)}`];
}

function suggest(name: string, allowed: readonly string[]): string {
  const closest = closestName(name, allowed);
  return closest ? `did you mean '${closest}'?` : `allowed are ${allowed.join(', ')}`;
}

function readGroup(given: ManifestOptions['group'], defaultName: string): { group: GroupDefinition; problems: string[] } {
  if (given === undefined || typeof given === 'string') return { group: { name: given ?? defaultName }, problems: [] };
  const problems = findUnknownFields('group', given, ['name', 'priority', 'maxActiveJobs', 'isEnabled']);
  if (!isObject(given)) return { group: { name: defaultName }, problems };
  const { name = defaultName, priority, maxActiveJobs, isEnabled } = given;
  return { group: { name, priority, maxActiveJobs, isEnabled }, problems };
}

function readMisfire(given: TimedOptions['misfire']): { misfire?: ManifestDefinition['misfire']; problems: string[] } {
  if (given === undefined) return { problems: [] };
  if (given === 'fire_once' || given === 'skip') return { misfire: { policy: given }, problems: [] };
  if (isObject(given) && Object.keys(given).join() === 'fireAll')
    return { misfire: { policy: 'fire_all', limit: given.fireAll }, problems: [] };
  return { problems: [`misfire must be 'fire_once', 'skip' or { fireAll: n }, got ${show(given)}`] };
}

function findUnknownFields(option: string, given: object, allowed: string[]): string[] {
  if (!isObject(given)) return [`${option} must be ${option === 'group' ? 'a name or ' : ''}an object, got ${show(given)}`];
  const unknown = Object.keys(given).filter((name) => !allowed.includes(name));
  return unknown.map((name) => `option '${option}.${name}' does not exist; ${suggest(name, allowed)}`);
}

function isObject(value: unknown): value is Record<string, never> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
