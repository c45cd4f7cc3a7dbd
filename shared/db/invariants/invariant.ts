import type { Sql } from '../sql.ts';

/**
 * A rule about the data, as a statement that answers no row when all is well. Those that hold *always* are true of every committed state;
 * those that hold *eventually* may be broken for as long as the next look takes, plus their grace.
 *
 * They run hourly beside production, so each starts from what is unfinished, queued or recent, which partial indexes keep small, and says
 * in its comment what it costs. What it starts from is a materialized part of the statement where the final limit would otherwise tempt the planner: it
 * expects to find a hundred rows soon, and walks the primary key of the whole history because there are none. None of them locks.
 */
export interface Invariant {
  /** A sentence with underscores: the name under which a violation is logged and looked up in the runbook. */
  readonly name: string;
  readonly kind: 'always' | 'eventually';
  /** How long beyond the documented delays a state may last before it counts. */
  readonly graceSeconds?: number;
  /** Gives {@link ViolationRow}s, a hundred at the most: whoever reads them needs examples, not a list of everything. */
  readonly statement: Sql;
}

export interface ViolationRow {
  /** The row that breaks the rule, by kind and id, or by the name that people know it under. */
  subject: string;
  detail: string;
}

/** Two looks of the manager: what is stuck is seen within one and repaired in the next. */
export const GRACE_SECONDS = 120;
