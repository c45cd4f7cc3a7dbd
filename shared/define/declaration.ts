import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type {
  GroupDefinition,
  JobDefinition,
  ManifestDefinition,
  PlanStepDefinition,
  ScheduleDefinition,
  TimedSchedule,
} from './definition.ts';
import type { ParentReference } from './options.ts';
import { readOptions } from './read-options.ts';

/** What the builder has heard of one manifest, before anything is judged. */
export interface AnyDeclaration {
  manifest: ManifestDefinition;
  workflow?: AnyWorkflow;
  steps?: DeclaredStep[][];
  group: GroupDefinition;
  parents: ParentReference[];
  /** The batch that it belongs to. */
  batch?: string;
  /** What was wrong with the call itself. */
  problems: string[];
}

export interface Declaration extends AnyDeclaration {
  manifest: JobDefinition;
  workflow: AnyWorkflow;
}

export interface PlanDeclaration extends AnyDeclaration {
  /** By group. They come after the call that declares the plan. */
  steps: DeclaredStep[][];
}

/** What the builder has heard of one step of a plan. */
export interface DeclaredStep {
  step: PlanStepDefinition;
  workflow: AnyWorkflow;
  group: GroupDefinition;
  problems: string[];
}

/** What a chain goes on from: one manifest, or a batch, which is many and so is nobody's parent unless `dependsOn` says which of them. */
export type Place = { externalId: string } | { batch: string };

/** A call of the builder that declares a job, whichever it was. */
export interface Call {
  workflow: AnyWorkflow;
  externalId: string;
  input: unknown;
  options: object;
  batch?: string;
}

/** A call of the builder that declares a plan, to which steps will be added. */
export type PlanCall = Omit<Call, 'workflow'> & Pick<PlanDeclaration, 'steps'>;

type Declared<Of> = Of extends Call ? Declaration : PlanDeclaration;

/** Stands in for a schedule that is none, so that the rest of its manifest is judged as that of a timed one. An app with such a mistake goes no further. */
const anySchedule: TimedSchedule = { type: 'interval', intervalSeconds: 1, anchor: 'occurrence' };

export function declareTimed<Of extends Call | PlanCall>(call: Of, schedule: TimedSchedule): Declared<Of> {
  if (['cron', 'interval'].includes(schedule?.type)) return declare(call, 'timed', schedule);
  return declare(call, 'timed', anySchedule, { problems: [`its schedule must be made by 'every' or 'cron', got ${show(schedule)}`] });
}

export function declareOnce<Of extends Call | PlanCall>(call: Of, at: Date | string): Declared<Of> {
  // An invalid date has no text of its own.
  const runAt = at instanceof Date && !Number.isNaN(at.getTime()) ? at.toISOString() : String(at);
  return declare(call, 'once', { type: 'once', runAt });
}

/** A dependent of the parents that it names itself, or else of the place where its chain stands. */
export function declareDependent<Of extends Call | PlanCall>(call: Of, place: Place | 'named' | undefined): Declared<Of> {
  const { dependsOn, mode, dormant } = (call.options ?? {}) as { dependsOn?: unknown; mode?: unknown; dormant?: unknown };
  const parents = dependsOn === undefined ? [] : [dependsOn].flat();
  const isNamed = (parent: unknown) => typeof (typeof parent === 'string' ? parent : (parent as Named)?.externalId) === 'string';
  const named = parents.filter((parent): parent is ParentReference => isNamed(parent));
  if (dependsOn === undefined && typeof place === 'object' && 'externalId' in place) named.push(place.externalId);
  const problems = [
    ...parents
      .filter((parent) => !isNamed(parent))
      .map((parent) => `dependsOn must be an id, a handle or a list of them, got ${show(parent)}`),
    ...(parents.length || named.length ? [] : [findNoParent(dependsOn === undefined ? place : undefined)]),
    ...(mode === undefined || mode === 'all' || mode === 'any' ? [] : [`mode must be 'all' or 'any', got ${show(mode)}`]),
    ...(dormant === undefined || typeof dormant === 'boolean' ? [] : [`dormant must be true or false, got ${show(dormant)}`]),
    ...(dormant === true && mode !== undefined
      ? ["mode is not for a dormant dependent: any of its parents may activate it; leave out 'mode' or 'dormant'"]
      : []),
  ];
  const ids = new Set(named.map((parent) => (typeof parent === 'string' ? parent : parent.externalId)));
  const type = dormant === true ? 'dormant_dependent' : 'dependent';
  return declare(call, 'dependent', { type, dependsOn: [...ids], mode: mode === 'any' ? 'any' : 'all' }, { parents: named, problems });
}

interface Named {
  externalId?: unknown;
}

function findNoParent(place: Place | 'named' | undefined): string {
  if (place === 'named') return "it names no parents; every item of 'thenIncludeMany' says in 'dependsOn' what it runs after";
  if (place && 'batch' in place)
    return `it follows the batch '${place.batch}', which is many manifests: name its parents in 'dependsOn', for example '${place.batch}-<id>'`;
  return "it depends on nothing, so it would never run; begin its chain with 'schedule', or name its parents in 'dependsOn'";
}

function declare<Of extends Call | PlanCall>(
  call: Of,
  kind: 'timed' | 'once' | 'dependent',
  schedule: ScheduleDefinition,
  { parents = [], problems = [] }: Partial<Pick<Declaration, 'parents' | 'problems'>> = {},
): Declared<Of> {
  const { workflow, steps, externalId, input, options, batch }: Partial<Call & PlanCall> & Omit<Call, 'workflow'> = call;
  const read = readOptions(steps ? `${kind}Plan` : kind, options, batch ?? externalId);
  const { group, policies } = read;
  const declaration: AnyDeclaration = {
    manifest: { externalId, workflow: workflow?.name ?? null, input, group: group.name, schedule, ...policies },
    ...(steps ? { steps } : { workflow }),
    group,
    parents,
    ...(batch !== undefined && { batch }),
    problems: [...problems, ...read.problems],
  };
  return declaration as Declared<Of>;
}

/** The manifest as data, once everything has been said of it. */
export function toManifest({ manifest, steps }: AnyDeclaration): ManifestDefinition {
  return steps ? { ...manifest, steps: steps.map((group) => group.map(({ step }) => step)) } : manifest;
}

/** The groups that a declaration states, its steps' included. */
export function statedGroups({ group, steps = [] }: AnyDeclaration): GroupDefinition[] {
  return [group, ...steps.flat().map((step) => step.group)];
}
