import type { ExecutionId } from '../model/ids.ts';

/** A bell for one execution: it says "look at this row" and nothing else. */
export interface ExecutionBell {
  executionId: ExecutionId;
  queueUrl: string;
}

/**
 * Every bell of the system. A bell may be lost, repeated or late: the database is the truth, and whoever finds a row that
 * nobody looked at rings again.
 */
export interface Doorbell {
  /** Gives the ids whose bell the queue has accepted; the others will be rung again by the manager. */
  ringExecutions(bells: ExecutionBell[]): Promise<ExecutionId[]>;
  /** Asks the dispatcher to look at the work queue, now or after a delay: for one that passed over what somebody else held. */
  pokeDispatcher(poke?: { delaySeconds?: number }): Promise<void>;
  /**
   * Asks for a manager cycle, now or after a delay of at most 900 seconds. A poke with a generation is a planned wake. Gives whether the queue has accepted it: a wake that was not sent
   * must not be taken for armed.
   */
  pokeManager(poke?: { delaySeconds?: number; generation?: number }): Promise<boolean>;
}

/** The body of an execution's bell. */
export function encodeExecutionBell(executionId: ExecutionId): string {
  return JSON.stringify({ v: 1, executionId: String(executionId) });
}

/** The execution a bell is for, or undefined for a body that no version of ours has written. */
export function decodeExecutionBell(body: string): ExecutionId | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { v, executionId } = (parsed ?? {}) as { v?: unknown; executionId?: unknown };
  if (v !== 1 || typeof executionId !== 'string' || !/^[1-9]\d{0,15}$/.test(executionId)) return undefined;
  const id = Number(executionId);
  // Beyond, a number is rounded, and the bell would ring for another execution.
  return Number.isSafeInteger(id) ? (id as ExecutionId) : undefined;
}
