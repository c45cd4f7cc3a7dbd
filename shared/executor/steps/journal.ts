import type { Database } from '../../db/database.ts';
import { DatabaseError, messageOf, NonRetryableError } from '../../errors.ts';
import type { ExecutionId } from '../../model/ids.ts';
import { addTallies } from '../judge-items.ts';
import type { Tally } from './end-step.ts';
import type { Lease } from './held-lease.ts';
import { loadSteps, MOST_STEPS, type RecordedStep, readStepOutput, type StepKind } from './load-steps.ts';
import { never } from './watch-for-quiet.ts';

export interface OpenJournal {
  runId: ExecutionId;
  lease: Lease;
  /** Does work over a connection that can be lost, and so may do it twice. */
  reach<Result>(work: (database: Database) => Promise<Result>): Promise<Result>;
  onLost(): void;
}

/** What the run has recorded, as this invocation knows it: read once, when the first step is asked for, and from then on only written. */
export interface Journal {
  /** Takes a name for one call of this invocation. */
  take(path: string): void;
  find(path: string, kind: StepKind): Promise<RecordedStep | undefined>;
  /** Notes that a call was answered with this, and so with all that is nested in it. */
  answer(step: RecordedStep): void;
  outputOf(step: RecordedStep): Promise<unknown>;
  /** The place of a step that is recorded for the first time, or anew. */
  place(path: string): { runId: ExecutionId; path: string; sequence: number };
  /** Gives what the statement gave. When that was nothing, the lease is lost: whoever waits here stays, and the run is left to whoever has it now. */
  write<Result>(path: string, statement: (database: Database, lease: Lease) => Promise<Result | false | undefined>): Promise<Result>;
  /** Notes that a step begins, and that it has ended in the same invocation, well or not; what it told counts only if it ended well. */
  begin(path: string): void;
  settle(path: string, tally?: Tally): void;
  /** Whether anything was asked for, what was begun and has not ended, and how much of it has. */
  readonly isUsed: boolean;
  readonly underWay: ReadonlySet<string>;
  readonly settledCount: number;
  /** Recorded, but neither asked for in this invocation nor part of a nested run whose result was. */
  listForgotten(): string[];
  /** What the steps inside of this path have told, in whichever invocation; the empty path is around all of them. */
  total(around: string): Tally;
}

export function openJournal({ runId, lease, reach, onLost }: OpenJournal): Journal {
  let loading: Promise<void> | undefined;
  let recorded: ReadonlyMap<string, RecordedStep> = new Map();
  let last = 0;
  let settledCount = 0;
  const taken = new Set<string>();
  const answered = new Set<string>();
  const underWay = new Set<string>();
  const tallies = new Map<string, Tally>();

  async function insist<Result>(path: string, work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      return await reach(work);
    } catch (error) {
      throw new DatabaseError('step_not_recorded', `step '${path}' could not be recorded: ${messageOf(error)}`, {
        retryable: true,
        cause: error,
      });
    }
  }

  async function load(path: string): Promise<void> {
    const steps = await insist(path, (database) => loadSteps(database, runId));
    last = steps.reduce((highest, { sequence }) => Math.max(highest, sequence), 0);
    recorded = new Map(steps.map((step) => [step.path, step]));
  }

  /** A nested run that was answered from the record was not entered, so nobody asked for what is in it. */
  function isAnswered(path: string): boolean {
    return answered.has(path) || (path.includes('/') && isAnswered(path.slice(0, path.lastIndexOf('/'))));
  }

  return {
    take(path) {
      if (taken.has(path))
        throw new NonRetryableError(`step '${path}' is used twice in one run: give each call its own name, for example '${path}-1'`);
      taken.add(path);
    },
    async find(path, kind) {
      loading ??= load(path);
      await loading.catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      const step = recorded.get(path);
      if (step && step.kind !== kind && step.state !== 'failed')
        throw new NonRetryableError(`'${path}' was recorded as a ${step.kind} and is now a ${kind}: give it another name`);
      if (!step && recorded.size + underWay.size + settledCount >= MOST_STEPS)
        throw new NonRetryableError(
          `step '${path}' would be one more than the ${MOST_STEPS} that a run may have: do more in each step, or use several manifests`,
        );
      return step;
    },
    outputOf: async (step) =>
      step.isOutputLeftOut ? insist(step.path, (database) => readStepOutput(database, runId, step.path)) : step.output,
    place(path) {
      last++;
      return { runId, path, sequence: last };
    },
    async write(path, statement) {
      const written = await insist(path, (database) => statement(database, lease));
      if (written !== false && written !== undefined) return written;
      onLost();
      return never();
    },
    answer({ path }) {
      answered.add(path);
    },
    begin(path) {
      underWay.add(path);
    },
    settle(path, tally) {
      underWay.delete(path);
      settledCount++;
      if (tally) tallies.set(path, tally);
    },
    get isUsed() {
      return taken.size > 0;
    },
    underWay,
    get settledCount() {
      return settledCount;
    },
    listForgotten: () => [...recorded.keys()].filter((path) => !taken.has(path) && !isAnswered(path)),
    total(around) {
      const isInside = (path: string) => !around || path.startsWith(`${around}/`);
      const earlier = [...recorded.values()].filter(({ path, state }) => state === 'completed' && isInside(path) && isAnswered(path));
      const now = [...tallies].filter(([path]) => isInside(path)).map(([, tally]) => tally);
      return addTallies([...earlier, ...now]);
    },
  };
}
