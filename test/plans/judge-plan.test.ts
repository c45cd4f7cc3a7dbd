import { describe, expect, it } from 'vitest';
import { judgePlan, type PlanGroup } from '../../shared/model/plan.ts';

const over: PlanGroup = { index: 0, unfinishedCount: 0, unreleasedCount: 0, fatal: null, fatalCount: 0, warnedCount: 0 };
const waiting = { ...over, unfinishedCount: 2, unreleasedCount: 2 };
const lost = { ...over, fatal: { name: 'export', state: 'failed' as const, message: 'no disk' }, fatalCount: 1 };
const running = { isStopRequested: false, isStopFailure: false };
const judge = (...groups: PlanGroup[]) => judgePlan({ ...running, groups: groups.map((group, index) => ({ ...group, index })) });

describe('a plan that nobody has stopped', () => {
  it('releases the first group whose steps are not in the queue, past those that are over', () => {
    expect(judge(waiting, waiting)).toEqual({ verdict: 'release', groupIndex: 0 });
    expect(judge(over, over, waiting)).toEqual({ verdict: 'release', groupIndex: 2 });
    expect(judge(over, { ...waiting, unfinishedCount: 1, unreleasedCount: 1 })).toEqual({ verdict: 'release', groupIndex: 1 });
  });

  it('waits for a group that has steps under way, also for one that is lost', () => {
    expect(judge({ ...waiting, unreleasedCount: 1 }, waiting)).toEqual({ verdict: 'wait' });
    expect(judge({ ...lost, unfinishedCount: 1 }, waiting)).toEqual({ verdict: 'wait' });
  });

  it('ends failed when a group is over in which a step failed that must not, and names it', () => {
    expect(judge(over, lost, waiting)).toEqual({
      verdict: 'end',
      state: 'failed',
      failure: { step: 'export', message: "step 'export' failed: no disk" },
    });
    const message = "step 'export' failed: no disk; 2 other steps of its group did not succeed either";
    expect(judge({ ...lost, fatalCount: 3 })).toMatchObject({ failure: { message } });
  });

  it('does not begin a later group that is lost already', () => {
    const cancelled = { ...waiting, fatal: { name: 'last', state: 'cancelled' as const, message: null }, fatalCount: 1 };
    expect(judge(over, cancelled)).toMatchObject({ state: 'failed', failure: { step: 'last', message: "step 'last' was cancelled" } });
  });

  it('completes, with warnings if any step had some or failed and is tolerated', () => {
    expect(judge()).toEqual({ verdict: 'end', state: 'completed' });
    expect(judge(over, over)).toEqual({ verdict: 'end', state: 'completed' });
    expect(judge(over, { ...over, warnedCount: 1 })).toEqual({ verdict: 'end', state: 'completed_with_warnings' });
  });
});

describe('a plan that was asked to stop', () => {
  const stopped = { isStopRequested: true, isStopFailure: false };

  it('waits for every step, and ends cancelled whatever became of them', () => {
    expect(judgePlan({ ...stopped, groups: [over, { ...waiting, index: 1 }] })).toEqual({ verdict: 'wait' });
    for (const group of [over, lost]) expect(judgePlan({ ...stopped, groups: [group] })).toEqual({ verdict: 'end', state: 'cancelled' });
  });

  it('ends failed if that is why it was stopped', () => {
    expect(judgePlan({ ...stopped, isStopFailure: true, groups: [over] })).toEqual({ verdict: 'end', state: 'failed' });
  });
});
