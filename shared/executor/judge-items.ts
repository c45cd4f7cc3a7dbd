import type { Failure } from '../transitions/end-runs.ts';
import type { Tally } from './steps/end-step.ts';

export type Judged = { state: 'completed' | 'completed_with_warnings' } | { state: 'failed'; failure: Failure };

/**
 * What a run that came to its end amounts to: if none of its items went well, it has failed; if some did not, or it warned, it completed with warnings. When all items were told in steps, which
 * are recorded and not run again, another attempt would find the same, so it is not made.
 */
export function judgeItems({ itemCount, failedItemCount, warningCount }: Tally, outside: Tally): Judged {
  if (itemCount > 0 && failedItemCount === itemCount) {
    const message = `${itemCount === 1 ? 'its only item' : `all of its ${itemCount} items`} failed: the log of the run names each`;
    return { state: 'failed', failure: { code: 'all_items_failed', message, isFinal: outside.itemCount === 0 } };
  }
  return { state: failedItemCount > 0 || warningCount > 0 ? 'completed_with_warnings' : 'completed' };
}

export function addTallies(tallies: Iterable<Tally>): Tally {
  const total = { itemCount: 0, failedItemCount: 0, warningCount: 0 };
  for (const { itemCount, failedItemCount, warningCount } of tallies) {
    total.itemCount += itemCount;
    total.failedItemCount += failedItemCount;
    total.warningCount += warningCount;
  }
  return total;
}
