import { InvalidInputError } from '../errors.ts';
import type { InputOf, ManifestHandle } from './manifest-handle.ts';
import type { AnyWorkflow } from './workflow.ts';

/**
 * Lets its holder act for one running execution: the lease token is known to the executor that runs it and to nobody else, and is worth nothing once the run has ended,
 * failed or been lost.
 */
export interface Capability {
  executionId: string;
  leaseToken: string;
}

/** A dormant dependent to activate, with the input of this one run; without, it runs with its manifest's. */
export interface Activation {
  externalId: string;
  input?: unknown;
}

/** Why a dormant dependent was not queued although its parent may activate it. Closed: every value is shown to people and documented. */
export type ActivationSkipReason = 'already_queued' | 'running' | 'dead_letter' | 'disabled' | 'retiring';

export type ActivationResult =
  | { externalId: string; outcome: 'activated'; queueEntryId: string }
  | { externalId: string; outcome: 'skipped'; reason: ActivationSkipReason };

/** What another function asks with the capability that a running workflow gave it. */
export interface ActivationRequest extends Capability {
  /**
   * Names this request within the parent's run, over all of its attempts: repeated with the same key, it gives what was recorded and activates nothing again. Without a
   * key, each dependent is activated at most once per run.
   */
  key?: string;
  activations: readonly Activation[];
}

/** The activator's answer. A refusal is data, not an error of the function: only the caller can do something about it. */
export type ActivationAnswer =
  | { ok: true; results: ActivationResult[] }
  | { ok: false; code: string; message: string; externalIds?: readonly string[] };

/** How a running workflow starts its dormant dependents. */
export interface Dormant {
  /**
   * Queues a dormant dependent of the running manifest, by its handle or its id. It is recorded as a step of the run: an attempt or continuation that comes here again
   * gets the recorded result, whatever the input is by then. Inside `ctx.step` it is refused: what counts is how often the run has asked for this id before, and a
   * step is not run again.
   */
  activate<Of extends AnyWorkflow>(manifest: ManifestHandle<Of>, input?: InputOf<Of>): Promise<ActivationResult>;
  activate(externalId: string, input?: unknown): Promise<ActivationResult>;
  /** The same for many, in one transaction: all are judged together, or none is queued. At most 10,000. */
  activateMany(activations: readonly Activation[]): Promise<ActivationResult[]>;
  /**
   * What another function needs to activate in the name of this run, through the activator or `POST /v1/activations`. It is asked for by a call and is no field of the
   * context, so that a context which is logged or passed on as a whole does not give the token away. Hand it over in the payload of an invocation, and keep it
   * out of logs: whoever holds it may activate this run's dormant dependents until the run ends.
   */
  capability(): Capability;
}

/** Unknown, not dormant, another parent's, or asked for outside a scheduled run: a mistake in the code that asks, so nothing was queued. */
export class InvalidActivationError extends InvalidInputError {
  /** All that cannot be activated, where the message names the first of many. */
  readonly externalIds: readonly string[];

  constructor(code: string, message: string, externalIds: readonly string[] = []) {
    super(code, message);
    this.externalIds = externalIds;
  }
}
