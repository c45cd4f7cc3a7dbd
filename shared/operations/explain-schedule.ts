import type { ParentEdge, WhyRow } from '../db/queries/select-why.ts';
import { count, instantSeenFrom } from './phrases.ts';
import type { Reason } from './why.ts';

/** What the schedule will do by itself, and what keeps it from doing so. */
export function explainSchedule(facts: WhyRow): Reason[] {
  const reasons: Reason[] = [];
  if (!facts.isEnabled)
    reasons.push({ code: 'disabled', message: 'it is disabled: its schedule rests until it is enabled; a trigger still runs it' });
  if (facts.scheduleType === 'none')
    return [...reasons, { code: 'manual', message: 'it has no schedule: it runs when somebody triggers it' }];
  if (facts.scheduleType === 'dormant_dependent') return [...reasons, explainDormant(facts)];
  if (!facts.isEnabled) return reasons;
  if (facts.scheduleType === 'dependent') return isUnderway(facts) ? reasons : [...reasons, ...explainDependent(facts)];
  return facts.scheduleType === 'once' ? explainOnce(facts) : explainRepeating(facts);
}

const isUnderway = ({ execution, entryCount }: WhyRow) => execution !== null || entryCount > 0;

function explainDormant({ parents }: WhyRow): Reason {
  const names = parents.filter(({ isDeleted }) => !isDeleted).map(({ externalId }) => `'${externalId}'`);
  if (!names.length) return { code: 'orphaned', message: 'it is orphaned: the parents that could activate it are gone' };
  return { code: 'dormant', message: `it is dormant: it runs only when ${names.join(' or ')} activates it while running` };
}

/** A hold has no instant of its own: whatever ends it looks at the manifest again. */
function explainDue({ nextDueAt, now }: WhyRow): Reason[] {
  if (!nextDueAt) return [];
  const at = instantSeenFrom(now, nextDueAt);
  if (nextDueAt > now) return [{ code: 'scheduled', message: `it is due next at ${at}` }];
  return [{ code: 'due', message: `it has been due since ${at}: the manager's next cycle decides` }];
}

function explainOnce(facts: WhyRow): Reason[] {
  const { runAt, nextOccurrenceAt, now, group } = facts;
  if (nextOccurrenceAt && !facts.isGroupEnabled)
    return [{ code: 'group_disabled', message: `group '${group}' is disabled: it keeps its instant and runs when the group is enabled` }];
  if (nextOccurrenceAt) return explainDue(facts);
  if (isUnderway(facts) || facts.deadLetter) return [];
  return [{ code: 'done', message: `it is done: its only instant was ${instantSeenFrom(now, runAt!)}` }];
}

function explainRepeating(facts: WhyRow): Reason[] {
  const reasons = explainDue(facts);
  if (!facts.isGroupEnabled)
    reasons.unshift({ code: 'group_disabled', message: `group '${facts.group}' is disabled: its ticks are skipped until it is enabled` });
  if (!facts.nextOccurrenceAt && facts.quarantineError === null)
    reasons.push({ code: 'no_further_occurrence', message: 'its schedule has no further occurrence' });
  return reasons;
}

function explainDependent(facts: WhyRow): Reason[] {
  const { parents, dependencyMode, group } = facts;
  if (parents.every(({ isDeleted }) => isDeleted))
    return [{ code: 'orphaned', message: 'it is orphaned: all of its parents are gone, so nothing will make it due' }];
  const reasons: Reason[] = [];
  if (!facts.isGroupEnabled)
    reasons.push({ code: 'group_disabled', message: `group '${group}' is disabled: it is held until the group is enabled` });
  const unmet = parents.filter((parent) => !isMet(parent));
  const isReady = dependencyMode === 'any' ? unmet.length < parents.length : unmet.length === 0;
  return isReady ? [...reasons, ...explainDue(facts)] : [...reasons, ...unmet.map(explainEdge)];
}

/** An edge is met by a success that has not been consumed, of a parent that is enabled. */
function isMet({ isEnabled, isDeleted, successCount, consumedCount }: ParentEdge): boolean {
  return isEnabled && !isDeleted && successCount > consumedCount;
}

function explainEdge({ externalId, successCount, consumedCount, isEnabled, isDeleted }: ParentEdge): Reason {
  if (isDeleted) return { code: 'parent_deleted', message: `parent '${externalId}' is no longer declared: it will not succeed again` };
  const counts = `it has succeeded ${count(successCount, 'time')}, of which ${consumedCount} ${consumedCount === 1 ? 'is' : 'are'} consumed`;
  if (!isEnabled) return { code: 'parent_disabled', message: `parent '${externalId}' is disabled, so it does not count: ${counts}` };
  return { code: 'parent_not_ready', message: `parent '${externalId}' has to succeed once more: ${counts}` };
}
