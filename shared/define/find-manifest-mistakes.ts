import { show } from '../model/show.ts';
import { checkExclusions } from '../time/check-exclusions.ts';
import type { GroupDefinition, ManifestDefinition } from './definition.ts';
import { findScheduleMistakes, mistakesOf } from './schedules.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;
export const NAME_RULE = "must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit";
const POOL = /^[a-z][a-z0-9-]{0,31}$/;

/** Whether something may be called so: apps, workflows, batches and manifests follow one rule. */
export function isName(name: unknown): name is string {
  return typeof name === 'string' && NAME.test(name);
}

/** Checks a manifest by itself, whoever declares it: all that can be said without its workflow, its parents or the others. */
export function findManifestMistakes(manifest: ManifestDefinition): string[] {
  const { externalId, schedule, pool, isEnabled, group } = manifest;
  return [
    ...(isName(externalId) ? [] : [`its id ${NAME_RULE}`]),
    ...findScheduleMistakes(schedule),
    ...findUntimed(manifest),
    ...findExclusionMistakes(manifest.exclusions),
    ...findNumberMistakes(manifest),
    ...findMisfireMistakes(manifest.misfire),
    ...(pool === undefined ? [] : findPoolMistakes(pool)),
    ...findFlagMistakes('isEnabled', isEnabled),
    ...findGroupNameMistakes(group),
  ];
}

/** Checks what is stated of a group; its name is checked with the manifests that are in it. */
export function findGroupMistakes({ priority, maxActiveJobs, isEnabled }: GroupDefinition): string[] {
  return [
    ...findBroken([
      ['group.priority', priority, 0, 31],
      ['group.maxActiveJobs', maxActiveJobs, 1, 1_000_000],
    ]),
    ...findFlagMistakes('group.isEnabled', isEnabled),
  ];
}

/** Checks what limits a run: a manifest's, or that of a step of a plan. */
export function findLimitMistakes({ maxAttempts, timeoutSeconds }: Pick<ManifestDefinition, 'maxAttempts' | 'timeoutSeconds'>): string[] {
  return findBroken([
    ['maxAttempts', maxAttempts, 1, 1_000],
    ['timeoutSeconds', timeoutSeconds, 1, 31_536_000],
  ]);
}

/** Pools are named by the stack, which allows no other names. */
export function findPoolMistakes(pool: unknown): string[] {
  if (typeof pool === 'string' && POOL.test(pool)) return [];
  return [`pool ${show(pool)} must be 1 to 32 lower-case letters, digits and dashes, beginning with a letter`];
}

/** Only what repeats can be late, be spread, or be left out. */
function findUntimed({ schedule, misfire, misfireThresholdSeconds, jitterSeconds, exclusions }: ManifestDefinition): string[] {
  if (schedule.type === 'cron' || schedule.type === 'interval') return [];
  const stated = Object.entries({ misfire, misfireThresholdSeconds, jitterSeconds, exclusions }).filter(([, value]) => value !== undefined);
  return stated.map(([field]) => `${field} is only for manifests that run by cron or interval; this one is of type '${schedule.type}'`);
}

function findExclusionMistakes(exclusions: unknown = []): string[] {
  if (!Array.isArray(exclusions)) return mistakesOf(() => checkExclusions(exclusions));
  // Each in its own place of an otherwise empty list: all are reported, and each by its number.
  return exclusions.flatMap((exclusion, index) => mistakesOf(() => checkExclusions(Object.assign([], { [index]: exclusion }))));
}

function findMisfireMistakes(misfire: ManifestDefinition['misfire']): string[] {
  if (misfire === undefined) return [];
  if (!['fire_once', 'skip', 'fire_all'].includes(misfire.policy))
    return [`misfire must be 'fire_once', 'skip' or 'fire_all', got ${show(misfire.policy)}`];
  if (misfire.policy !== 'fire_all' || isWhole(misfire.limit, 1, 10_000)) return [];
  return [`misfire.fireAll must be a whole number from 1 to 10000, got ${show(misfire.limit)}`];
}

function findNumberMistakes(manifest: ManifestDefinition): string[] {
  const { initialSeconds, factor, maxSeconds, jitter } = manifest.backoff ?? {};
  return [
    ...findLimitMistakes(manifest),
    ...findBroken([
      ['priority', manifest.priority, 0, 31],
      ['jitterSeconds', manifest.jitterSeconds, 0, 86_400],
      ['misfireThresholdSeconds', manifest.misfireThresholdSeconds, 0, 31_536_000],
      ['expectWithinSeconds', manifest.expectWithinSeconds, 1, 31_536_000],
      ['backoff.initialSeconds', initialSeconds, 0, 86_400],
      ['backoff.maxSeconds', maxSeconds, 1, 31_536_000],
    ]),
    ...(factor === undefined || isBetween(factor, 1, 100) ? [] : [`backoff.factor must be 1 to 100, got ${show(factor)}`]),
    ...(jitter === undefined || isBetween(jitter, 0, 1) ? [] : [`backoff.jitter must be 0 to 1, got ${show(jitter)}`]),
    ...(typeof initialSeconds === 'number' && typeof maxSeconds === 'number' && initialSeconds > maxSeconds
      ? [`backoff.initialSeconds must not be more than backoff.maxSeconds, got ${initialSeconds} and ${maxSeconds}`]
      : []),
  ];
}

function findBroken(rules: [field: string, value: number | undefined, least: number, most: number][]): string[] {
  const broken = rules.filter(([, value, least, most]) => value !== undefined && !isWhole(value, least, most));
  return broken.map(([field, value, least, most]) => `${field} must be a whole number from ${least} to ${most}, got ${show(value)}`);
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && isBetween(value, least, most);
}

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}

export function findFlagMistakes(field: string, value: unknown): string[] {
  return value === undefined || typeof value === 'boolean' ? [] : [`${field} must be true or false, got ${show(value)}`];
}

/** Any text will do, as far as a row can hold it. */
export function findGroupNameMistakes(name: unknown): string[] {
  if (typeof name !== 'string' || name.length < 1 || name.length > 200) return [`group name ${show(name)} must be 1 to 200 characters`];
  if (!name.isWellFormed()) return [`group name ${show(name)} must not contain half of a surrogate pair`];
  return name.includes('\0') ? [`group name '${name}' must not contain the character U+0000`] : [];
}
