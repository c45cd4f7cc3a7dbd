import { InvalidInputError } from '../errors.ts';
import { show } from '../model/show.ts';
import type { GroupDefinition, JobDefinition } from './definition.ts';
import { findInputMistakes } from './find-input-mistakes.ts';
import { findRepeated, listProblems } from './list-problems.ts';
import { mergeGroups } from './merge-groups.ts';
import { type ReadManifest, readRuntimeManifest } from './read-runtime-manifest.ts';
import { workflowByName } from './workflow-by-name.ts';

/** What one transaction takes in a few seconds. */
export const MOST_MANIFESTS = 5_000;
/** How many mistakes a message lists. */
export const MOST_LISTED = 20;
/** As long as an id may be. */
const MOST_SHOWN = 200;

/** Refuses, all at once, what can be judged without the database. */
export async function checkRuntimeManifests(given: unknown): Promise<{ manifests: JobDefinition[]; groups: GroupDefinition[] }> {
  if (!Array.isArray(given) || given.length < 1 || given.length > MOST_MANIFESTS) {
    const received = Array.isArray(given) ? String(given.length) : 'no list';
    throw new InvalidInputError('invalid_request', `1 to ${MOST_MANIFESTS} manifests go into one request, got ${received}`);
  }
  const read = given.map(readRuntimeManifest);
  const manifests = read.map(({ manifest }) => manifest);
  const { groups, mistakes } = mergeGroups(read.map(({ group }) => group));
  const problems = await Promise.all(read.map(findProblems));
  const repeated = findRepeated(manifests.map(({ externalId }) => externalId));
  const all = [
    ...listProblems(problems.flat()),
    ...repeated.map((externalId) => `manifest '${nameOf(externalId)}' is given twice; ids must be unique`),
    ...mistakes,
  ];
  if (all.length) throw new InvalidInputError('invalid_manifest', listShortly(all));
  return { manifests, groups };
}

async function findProblems({ manifest: { externalId, workflow, input }, problems }: ReadManifest) {
  const found = [...problems, ...(await findInputMistakes(workflowByName(workflow), input))];
  return found.map((problem) => ({ externalId: nameOf(externalId), problem }));
}

/** What came as an id, as far as it can be told: it may be anything, of any length. */
function nameOf(externalId: unknown): string {
  return typeof externalId === 'string' ? externalId.slice(0, MOST_SHOWN) : show(externalId);
}

/** The first of many, and how many are left. */
export function listShortly(texts: string[]): string {
  const rest = texts.length - MOST_LISTED;
  return `${texts.slice(0, MOST_LISTED).join('; ')}${rest > 0 ? `; and ${rest} more` : ''}`;
}
