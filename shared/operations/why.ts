import type { Db } from '../db/database.ts';
import type { ManifestState } from '../db/queries/manifest-state.ts';
import { selectWhy, type WhyRow } from '../db/queries/select-why.ts';
import { NotFoundError } from '../errors.ts';
import type { PoolSettings } from '../settings.ts';
import { explainPlan } from './explain-plan.ts';
import { explainQueue } from './explain-queue.ts';
import { explainSchedule } from './explain-schedule.ts';
import { isExternalId } from './paging.ts';
import { count, instantSeenFrom } from './phrases.ts';

/** The pools of this deployment, as far as admission knows them. */
export type PoolSizes = Record<string, Omit<PoolSettings, 'queueUrl'>>;

export interface Reason {
  /** Stable, for programs. */
  code: string;
  /** A sentence, for people. */
  message: string;
}

export interface Why {
  state: ManifestState;
  /** Whether a run of it is in progress at this moment. */
  runsNow: boolean;
  /** What keeps it running, or from running; the most immediate first. */
  reasons: Reason[];
}

/** Why a manifest runs now, or why it does not, by the rules of the manager and the dispatcher. It reads one snapshot and changes nothing. */
export async function why(db: Db, externalId: string, pools: PoolSizes): Promise<Why> {
  const facts = isExternalId(externalId) ? await selectWhy(db, externalId) : undefined;
  if (!facts)
    throw new NotFoundError('manifest_not_found', `manifest '${externalId}' does not exist: GET /v1/manifests lists those that do`);
  return {
    state: facts.state,
    runsNow: facts.execution?.state === 'in_progress',
    reasons: [
      ...explainExecution(facts, pools),
      ...explainHold(facts),
      ...explainQueue(facts, pools),
      ...explainSchedule(facts),
      ...explainLastSkip(facts),
    ],
  };
}

function explainExecution({ execution, now }: WhyRow, pools: PoolSizes): Reason[] {
  if (!execution) return [];
  const { id, plan, state, attempt, pool, ringCount, createdAt, startedAt, leaseExpiresAt, cancelRequestedAt, wakesAt } = execution;
  const at = (instant: string) => instantSeenFrom(now, instant);
  if (state === 'pending') {
    const bell = ringCount === 0 ? 'its bell has not been rung yet' : `its bell was rung ${count(ringCount, 'time')}`;
    return [
      { code: 'starting', message: `execution ${id} was admitted ${at(createdAt)} and waits for an executor of pool '${pool}': ${bell}` },
    ];
  }
  if (state === 'waiting')
    return [{ code: 'sleeping', message: `execution ${id} sleeps${wakesAt ? ` until ${at(wakesAt)}` : ''} and takes no slot meanwhile` }];
  const reasons = [
    { code: 'running', message: `execution ${id}, attempt ${attempt}, has been running since ${at(startedAt ?? createdAt)}` },
  ];
  if (cancelRequestedAt)
    reasons.push({
      code: 'cancelling',
      message: `its cancellation was requested ${at(cancelRequestedAt)}: it hears of it within one renewal`,
    });
  if (plan) reasons.push(...explainPlan(plan, pools));
  if (leaseExpiresAt && new Date(leaseExpiresAt) < now)
    reasons.push({
      code: 'lease_expired',
      message: `its executor fell silent, its lease expired ${at(leaseExpiresAt)}: the next cycle recovers it`,
    });
  return reasons;
}

/** What keeps every entry and every tick back until somebody does something. */
function explainHold({ deadLetter, quarantineError, retiringAt, now }: WhyRow): Reason[] {
  const reasons: Reason[] = [];
  if (deadLetter) {
    const since = instantSeenFrom(now, deadLetter.createdAt);
    const message = `dead letter ${deadLetter.id} (${deadLetter.reason}) has been waiting for a person since ${since}: retry or acknowledge it`;
    reasons.push({ code: 'dead_letter', message });
  }
  if (quarantineError !== null) {
    const message = `it is quarantined: ${quarantineError}; its schedule rests until it is declared anew, and switching it off and on does not help`;
    reasons.push({ code: 'quarantined', message });
  }
  if (retiringAt) {
    const message = `it has no longer been declared since ${instantSeenFrom(now, retiringAt)} and goes with its last run: declare it again to keep it`;
    reasons.push({ code: 'retiring', message });
  }
  return reasons;
}

function explainLastSkip({ lastSkipReason, lastSkipAt, skipCount, now }: WhyRow): Reason[] {
  if (lastSkipReason === null || !lastSkipAt) return [];
  const message = `it was last skipped ${instantSeenFrom(now, lastSkipAt)}, reason ${lastSkipReason}; ${count(skipCount, 'skip')} in all`;
  return [{ code: 'last_skip', message }];
}
