import type { ExecutionState } from '../db/queries/execution-columns.ts';
import type { PlanFacts, PlanStepRow } from '../db/queries/plan-facts.ts';
import { explainStep } from './explain-plan.ts';
import { toInstant } from './instant.ts';
import type { Reason } from './why.ts';

/** A plan's run: its groups in order, the steps of each side by side. */
export interface PlanDescription {
  currentGroupIndex: number;
  groupCount: number;
  groups: PlanStepDescription[][];
}

/** A step by its last attempt; all attempts are among the children. */
export interface PlanStepDescription {
  executionId: string;
  name: string;
  workflow: string;
  state: ExecutionState;
  attempt: number;
  maxAttempts: number;
  continueOnFailure: boolean;
  /** It succeeded in the execution that this one resumed, and did not run here. */
  isTakenOver: boolean;
  failureMessage: string | null;
  startedAt: string | null;
  finishedAt: string | null;
  /** How long it has run, without sleep; null before it began. */
  runningMs: number | null;
  /** Why it has not begun, or does not go on; empty if it runs or has ended. */
  waitsFor: Reason[];
}

export function describePlan(facts: PlanFacts): PlanDescription {
  const { currentGroupIndex, groupCount, steps } = facts;
  const groups = Array.from({ length: groupCount }, (_, index) =>
    steps.filter(({ groupIndex }) => groupIndex === index).map((step) => describeStep(step, facts)),
  );
  return { currentGroupIndex, groupCount, groups };
}

function describeStep(step: PlanStepRow, facts: PlanFacts): PlanStepDescription {
  const { groupIndex: _, entry: __, startedAt, finishedAt, runningMs, ...shown } = step;
  return {
    ...shown,
    startedAt: toInstant(startedAt),
    finishedAt: toInstant(finishedAt),
    runningMs: startedAt === null ? null : runningMs,
    waitsFor: explainStep(step, facts),
  };
}
