import { InvalidInputError } from '../errors.ts';
import { show } from '../model/show.ts';
import type { ManifestDefinition } from './definition.ts';
import { readOptions } from './read-options.ts';

/** What may be changed without declaring the manifest anew, and the columns that hold it. */
const columnsOf: Record<string, string[]> = {
  pool: ['pool'],
  priority: ['priority'],
  maxAttempts: ['max_attempts'],
  backoff: ['backoff_initial_seconds', 'backoff_factor', 'backoff_max_seconds', 'backoff_jitter'],
  timeoutSeconds: ['timeout_seconds'],
  isEnabled: ['is_enabled'],
  expectWithinSeconds: ['expect_within_seconds'],
  misfire: ['misfire_policy'],
  misfireThresholdSeconds: ['misfire_threshold_seconds'],
  jitterSeconds: ['jitter_seconds'],
  exclude: ['exclusions'],
};

export interface ReadPatch {
  settings: Partial<ManifestDefinition>;
  /** Columns that go back to their default. */
  resets: string[];
  problems: string[];
}

/** The settings of a patch, by the names of the builder's options; null stands for the default. Their values are judged with the manifest's schedule. */
export function readPatch(given: unknown): ReadPatch {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw invalid(`a patch must be an object, got ${show(given)}`);
  const stated = Object.entries(given).filter(([, value]) => value !== undefined);
  if (!stated.length) throw invalid(`nothing to change was given: give ${Object.keys(columnsOf).join(', ')}`);
  const unknown = stated.map(([name]) => name).filter((name) => !Object.hasOwn(columnsOf, name));
  if (unknown.length) {
    const names = unknown.slice(0, 5).map((name) => `'${name.slice(0, 100)}'`);
    throw invalid(`a patch cannot change ${names.join(', ')}; allowed are ${Object.keys(columnsOf).join(', ')}`);
  }
  const { policies, problems } = readOptions('timed', Object.fromEntries(stated.filter(([, value]) => value !== null)), '');
  return { settings: policies, resets: stated.filter(([, value]) => value === null).flatMap(([name]) => columnsOf[name]!), problems };
}

function invalid(message: string): InvalidInputError {
  return new InvalidInputError('invalid_request', message);
}
