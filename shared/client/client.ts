import { listShortly } from '../define/check-runtime-manifests.ts';
import { type Call, type Declaration, declareDependent, declareOnce, declareTimed } from '../define/declaration.ts';
import type { TimedSchedule } from '../define/definition.ts';
import { findInputMistakes } from '../define/find-input-mistakes.ts';
import { listProblems } from '../define/list-problems.ts';
import type { DependentBatchOptions, DependentOptions, ManifestOptions, ParentReference, TimedOptions } from '../define/options.ts';
import type { PutResult } from '../define/put-manifests.ts';
import { readItems } from '../define/read-items.ts';
import { workflowByName } from '../define/workflow-by-name.ts';
import { InvalidInputError } from '../errors.ts';
import type { InputOf } from '../model/manifest-handle.ts';
import type { AnyWorkflow } from '../model/workflow.ts';
import type { RemovedManifest } from '../operations/remove-manifest.ts';
import type { TriggerResult } from '../operations/trigger.ts';
import { createDatabaseTransport, type DatabaseTransportOptions } from './database-transport.ts';
import { createHttpTransport, type HttpTransportOptions } from './http-transport.ts';
import { toRuntimeManifest } from './to-runtime-manifest.ts';
import type { RunOptions, TriggerOptions } from './transport.ts';

/** A workflow itself, whose input is then checked by the compiler and before it is sent; or the name of one that is deployed. */
export type WorkflowReference = AnyWorkflow | string;
type Given<Of extends WorkflowReference> = Of extends AnyWorkflow ? InputOf<Of> : unknown;
/** A manifest by its id or by a handle. */
export type ManifestReference = ParentReference;

interface Item<Of extends WorkflowReference> {
  /** What comes after the name of the batch in the manifest's id. */
  id: string;
  input: Given<Of>;
}
type Parents = Required<Pick<DependentOptions, 'dependsOn'>>;

export type ClientOptions = DatabaseTransportOptions | HttpTransportOptions;

/**
 * Declares and runs things while the system runs. What it declares belongs to nobody's deployment; declaring it again with the same id changes it, or nothing. Many are one
 * transaction: all of them or none. A refusal is an error with a stable `code`, whichever way the client reaches the scheduler.
 */
export interface Client {
  schedule<Of extends WorkflowReference>(
    workflow: Of,
    externalId: string,
    input: Given<Of>,
    schedule: TimedSchedule,
    options?: TimedOptions,
  ): Promise<PutResult>;
  /** Declares `<name>-<id>` for every item, in the group of the batch's name unless said otherwise. What an item says goes before what the batch says. */
  scheduleMany<Of extends WorkflowReference>(
    workflow: Of,
    name: string,
    items: readonly (Item<Of> & TimedOptions)[],
    schedule: TimedSchedule,
    options?: TimedOptions,
  ): Promise<PutResult[]>;
  /** Declares what runs after its parents, or with `dormant` when a running parent activates it. */
  scheduleDependent<Of extends WorkflowReference>(
    workflow: Of,
    externalId: string,
    input: Given<Of>,
    options: DependentOptions & Parents,
  ): Promise<PutResult>;
  scheduleManyDependent<Of extends WorkflowReference>(
    workflow: Of,
    name: string,
    items: readonly (Item<Of> & DependentOptions & Parents)[],
    options?: DependentBatchOptions,
  ): Promise<PutResult[]>;
  scheduleOnce<Of extends WorkflowReference>(
    workflow: Of,
    externalId: string,
    input: Given<Of>,
    at: Date | string,
    options?: ManifestOptions,
  ): Promise<PutResult>;
  /** Runs a manifest now, or after a delay; with an input instead of its own. */
  trigger(manifest: ManifestReference, options?: TriggerOptions): Promise<TriggerResult>;
  /** Runs a workflow without a manifest. */
  run<Of extends WorkflowReference>(workflow: Of, input: Given<Of>, options?: RunOptions): Promise<{ queueEntryId: string }>;
  /** Stops an execution, or asks it to. */
  cancel(executionId: string): Promise<{ outcome: 'cancelled' | 'requested' }>;
  enable(manifest: ManifestReference): Promise<void>;
  disable(manifest: ManifestReference): Promise<void>;
  remove(manifest: ManifestReference): Promise<RemovedManifest>;
  /** Ends the connections that the client has opened itself. */
  close(): Promise<void>;
}

export function createClient(options: ClientOptions): Client {
  const transport = 'url' in options ? createHttpTransport(options) : createDatabaseTransport(options);
  const put = async (declarations: Declaration[], mistakes: string[] = []) => {
    await refuseMistakes(declarations, mistakes);
    // A batch without items is none, as in an app.
    return declarations.length ? transport.put(declarations.map(toRuntimeManifest)) : [];
  };
  const putOne = async (declaration: Declaration) => (await put([declaration]))[0]!;
  const putMany = (
    workflow: WorkflowReference,
    name: string,
    items: readonly object[],
    given: object,
    declare: (call: Call) => Declaration,
  ) => {
    const { calls, mistakes } = readItems(toWorkflow(workflow), name, items, given);
    return put(calls.map(declare), mistakes);
  };
  const call = (workflow: WorkflowReference, externalId: string, input: unknown, given: object = {}): Call => ({
    workflow: toWorkflow(workflow),
    externalId,
    input,
    options: given,
  });
  return {
    schedule: (workflow, externalId, input, schedule, given) => putOne(declareTimed(call(workflow, externalId, input, given), schedule)),
    scheduleMany: (workflow, name, items, schedule, given = {}) =>
      putMany(workflow, name, items, given, (one) => declareTimed(one, schedule)),
    scheduleDependent: (workflow, externalId, input, given) =>
      putOne(declareDependent(call(workflow, externalId, input, given), undefined)),
    scheduleManyDependent: (workflow, name, items, given = {}) =>
      putMany(workflow, name, items, given, (one) => declareDependent(one, undefined)),
    scheduleOnce: (workflow, externalId, input, at, given) => putOne(declareOnce(call(workflow, externalId, input, given), at)),
    trigger: async (manifest, asked = {}) => {
      if (asked.input !== undefined) await refuseInput(workflowOf(manifest), asked.input);
      return transport.trigger(idOf(manifest), asked);
    },
    run: async (workflow, input, asked = {}) => {
      await refuseInput(toWorkflow(workflow), input);
      return transport.run(toWorkflow(workflow).name, input, asked);
    },
    cancel: (executionId) => transport.cancel(executionId),
    enable: (manifest) => transport.enable(idOf(manifest)),
    disable: (manifest) => transport.disable(idOf(manifest)),
    remove: (manifest) => transport.remove(idOf(manifest)),
    close: () => transport.close(),
  };
}

/** What only the caller's side knows: what the call itself got wrong, and what JSON or the workflow's own schema refuses of an input. */
async function refuseMistakes(declarations: Declaration[], mistakes: string[]): Promise<void> {
  const problems = await Promise.all(
    declarations.map(async ({ manifest: { externalId, input }, workflow, batch, problems: found }) =>
      [...found, ...(await findInputMistakes(workflow, input))].map((problem) => ({ externalId, batch, problem })),
    ),
  );
  const all = [...mistakes, ...listProblems(problems.flat())];
  if (all.length) throw new InvalidInputError('invalid_manifest', listShortly(all));
}

async function refuseInput(workflow: AnyWorkflow, input: unknown): Promise<void> {
  const mistakes = await findInputMistakes(workflow, input);
  if (mistakes.length) throw new InvalidInputError('invalid_input', listShortly(mistakes));
}

function toWorkflow(workflow: WorkflowReference): AnyWorkflow {
  return typeof workflow === 'string' ? workflowByName(workflow) : workflow;
}

function idOf(manifest: ManifestReference): string {
  return typeof manifest === 'string' ? manifest : manifest.externalId;
}

function workflowOf(manifest: ManifestReference): AnyWorkflow {
  return (typeof manifest === 'object' && manifest.workflow) || workflowByName('any');
}
