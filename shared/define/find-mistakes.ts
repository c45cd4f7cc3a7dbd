import type { StandardSchemaV1 } from '@standard-schema/spec';
import { WaybillError } from '../errors.ts';
import { toStorableJson } from '../model/json.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import { checkExclusions } from '../time/check-exclusions.ts';
import { refuseCyclesAmong } from '../transitions/refuse-cycles.ts';
import { mergeGroups } from './merge-groups.ts';
import type { Declaration } from './scheduler.ts';
import { findScheduleMistakes, mistakesOf } from './schedules.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;
const NAME_RULE = "must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit";

/** Everything that is wrong with an app, in one error: nobody should deploy five times to learn of five mistakes. */
export class InvalidAppError extends WaybillError {
  readonly mistakes: readonly string[];
  constructor(name: string, mistakes: string[]) {
    super(
      'invalid_app',
      `app '${name}' has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((one) => `  - ${one}`).join('\n')}`,
    );
    this.mistakes = mistakes;
  }
}

/** Checks what the compiler cannot. Each mistake names the manifest, the field, what was received and what is allowed. */
export async function findMistakes(name: string, workflows: AnyWorkflow[], declarations: Declaration[]): Promise<string[]> {
  const known = new Set(workflows.map((workflow) => workflow.name));
  const perManifest = await Promise.all(declarations.map((declaration) => checkDeclaration(declaration, known)));
  return [
    ...(NAME.test(name) ? [] : [`app name '${name}' ${NAME_RULE}`]),
    ...workflows.filter((workflow) => !NAME.test(workflow.name)).map((workflow) => `workflow name '${workflow.name}' ${NAME_RULE}`),
    ...repeated(workflows.map((workflow) => workflow.name)).map((twice) => `workflow '${twice}' is listed twice; names must be unique`),
    ...repeated(declarations.map(({ manifest }) => manifest.externalId)).map(
      (twice) => `manifest '${twice}' is declared twice; ids must be unique`,
    ),
    ...perManifest.flat(),
    ...mergeGroups(declarations.map(({ group }) => group)).mistakes,
    ...findGraphMistakes(declarations),
  ];
}

async function checkDeclaration({ manifest, workflow, group }: Declaration, known: Set<string>): Promise<string[]> {
  const mistakes: string[] = [];
  const add = (problem: string) => mistakes.push(`manifest '${manifest.externalId}': ${problem}`);
  if (!NAME.test(manifest.externalId)) add(`its id ${NAME_RULE}`);
  if (!known.has(workflow.name)) add(`workflow '${workflow.name}' is not part of the app; add it to 'workflows'`);
  findScheduleMistakes(manifest.schedule).forEach(add);
  mistakesOf(() => checkExclusions(manifest.exclusions ?? [])).forEach(add);
  for (const problem of checkNumbers(manifest, group)) add(problem);
  checkGroupName(group.name).forEach(add);
  if (manifest.misfire?.policy === 'fire_all' && !isWhole(manifest.misfire.limit, 1, 10_000)) {
    add(`misfire.fireAll must be a whole number from 1 to 10000, got ${manifest.misfire.limit}`);
  }
  if ('dependsOn' in manifest.schedule && !manifest.schedule.dependsOn.length) {
    add("it depends on nothing, so it would never run; begin its chain with 'schedule', or name its parents in 'dependsOn'");
  }
  const stored = toStorableJson(manifest.input);
  if ('problem' in stored) add(`its input cannot be stored: ${stored.problem}`);
  else for (const problem of await checkInput(workflow, JSON.parse(stored.text))) add(problem);
  return mistakes;
}

async function checkInput(workflow: AnyWorkflow, input: unknown): Promise<string[]> {
  const { issues = [] } = await workflow.input['~standard'].validate(input);
  return issues.map(({ message, path = [] }: StandardSchemaV1.Issue) => {
    const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    return `its input is invalid${place ? ` at '${place}'` : ''}: ${message}`;
  });
}

function checkNumbers(
  { priority, maxAttempts, timeoutSeconds, jitterSeconds, misfireThresholdSeconds, expectWithinSeconds, backoff }: Declaration['manifest'],
  group: Declaration['group'],
): string[] {
  const rules: [string, number | undefined, number, number][] = [
    ['priority', priority, 0, 31],
    ['maxAttempts', maxAttempts, 1, 1_000],
    ['timeoutSeconds', timeoutSeconds, 1, 31_536_000],
    ['jitterSeconds', jitterSeconds, 0, 86_400],
    ['misfireThresholdSeconds', misfireThresholdSeconds, 0, 31_536_000],
    ['expectWithinSeconds', expectWithinSeconds, 1, 31_536_000],
    ['backoff.initialSeconds', backoff?.initialSeconds, 0, 86_400],
    ['backoff.maxSeconds', backoff?.maxSeconds, 1, 31_536_000],
    ['group.priority', group.priority, 0, 31],
    ['group.maxActiveJobs', group.maxActiveJobs, 1, 1_000_000],
  ];
  const broken = rules.filter(([, value, least, most]) => value !== undefined && !isWhole(value, least, most));
  return [
    ...broken.map(([field, value, least, most]) => `${field} must be a whole number from ${least} to ${most}, got ${value}`),
    ...(backoff?.factor !== undefined && !(backoff.factor >= 1 && backoff.factor <= 100)
      ? [`backoff.factor must be 1 to 100, got ${backoff.factor}`]
      : []),
    ...(backoff?.jitter !== undefined && !(backoff.jitter >= 0 && backoff.jitter <= 1)
      ? [`backoff.jitter must be 0 to 1, got ${backoff.jitter}`]
      : []),
  ];
}

function isWhole(value: number | undefined, least: number, most: number): boolean {
  return value !== undefined && Number.isInteger(value) && value >= least && value <= most;
}

/** Circles among this app's manifests and groups. Parents of other apps are known only to the database, which checks again. */
function findGraphMistakes(declarations: Declaration[]): string[] {
  const groups = new Map(declarations.map(({ manifest }) => [manifest.externalId, manifest.group]));
  const edges = declarations.flatMap(({ manifest: { externalId, group, schedule } }) =>
    'dependsOn' in schedule
      ? schedule.dependsOn.map((parent) => ({ parent, child: externalId, parentGroup: groups.get(parent) ?? parent, childGroup: group }))
      : [],
  );
  return mistakesOf(() => refuseCyclesAmong(edges));
}

/** Any text will do, as far as a row can hold it. */
function checkGroupName(name: string): string[] {
  if (name.length < 1 || name.length > 200) return [`group name '${name}' must be 1 to 200 characters`];
  return name.includes('\0') ? [`group name '${name}' must not contain the character U+0000`] : [];
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
