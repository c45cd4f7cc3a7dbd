import type { WhyRow } from '../db/queries/select-why.ts';
import type { WaitingEntry } from '../db/queries/waiting-entry.ts';
import { instantSeenFrom } from './phrases.ts';
import type { PoolSizes, Reason } from './why.ts';

/** Why what is queued has not been admitted yet. Each reason alone would keep it waiting, so all of them are told. */
export function explainQueue(facts: WhyRow, pools: PoolSizes): Reason[] {
  const first = findFirst(facts);
  if (!first) return [];
  const obstacles = [...explainOrder(facts, first), ...explainAdmission(facts, first, pools)];
  if (!obstacles.length && !facts.deadLetter) {
    const message = `entry ${first.id} has been queued since ${instantSeenFrom(facts.now, first.createdAt)}: the dispatcher's next claim admits it`;
    obstacles.push({ code: 'queued', message });
  }
  const others = facts.entryCount - 1;
  if (others > 0) {
    const what = others === 1 ? '1 further entry of this manifest waits' : `${others} further entries of this manifest wait`;
    obstacles.push({ code: 'behind_entry', message: `${what} behind entry ${first.id}` });
  }
  return obstacles;
}

/** What keeps an entry whose turn it is from being admitted. A plan takes no slot, so only a switch that is off keeps it. */
export function explainAdmission(facts: Capacity, entry: WaitingEntry, pools?: PoolSizes): Reason[] {
  return [...explainCapacity(facts, entry), ...explainGroup(entry), ...(pools ? explainPool(entry, pools) : [])];
}

type Capacity = Pick<WhyRow, 'isPaused' | 'maxActiveJobs' | 'liveCount'>;

/**
 * The entry whose turn it is, by the dispatcher's rules: a retry keeps every other back; then the fresh one, unless it is delayed and the first of the series is not.
 */
function findFirst({ entries, now }: WhyRow): WaitingEntry | undefined {
  const retry = entries.find(({ lane }) => lane === 'retry');
  if (retry) return retry;
  const fresh = entries.find(({ lane }) => lane === 'fresh');
  const series = entries.find(({ lane }) => lane === 'series');
  if (!fresh || !series) return fresh ?? series;
  const availableAt = ({ availableAt }: WaitingEntry) => Math.max(Date.parse(availableAt), now.getTime());
  return availableAt(series) < availableAt(fresh) ? series : fresh;
}

function explainOrder({ execution, maxAttempts, now }: WhyRow, { id, lane, attempt, availableAt }: WaitingEntry): Reason[] {
  const reasons: Reason[] = [];
  if (execution) reasons.push({ code: 'behind_execution', message: `entry ${id} waits until execution ${execution.id} has ended` });
  if (new Date(availableAt) <= now) return reasons;
  const until = instantSeenFrom(now, availableAt);
  if (lane === 'retry')
    reasons.push({ code: 'retry_wait', message: `attempt ${attempt} (${maxAttempts} failures are allowed) waits until ${until}` });
  else reasons.push({ code: 'delayed', message: `entry ${id} is delayed until ${until}: a trigger without input brings it forward` });
  return reasons;
}

function explainCapacity({ isPaused, maxActiveJobs, liveCount }: Capacity, { id, pool }: WaitingEntry): Reason[] {
  const reasons: Reason[] = [];
  if (isPaused) reasons.push({ code: 'paused', message: `everything is paused, so entry ${id} is not admitted: POST /v1/unpause` });
  if (pool !== null && maxActiveJobs !== null && liveCount >= maxActiveJobs)
    reasons.push({ code: 'capacity_full', message: `global capacity is used up: ${liveCount} live of at most ${maxActiveJobs}` });
  return reasons;
}

function explainGroup({ id, pool, group, isGroupEnabled, groupLiveCount, groupMaxActiveJobs }: WaitingEntry): Reason[] {
  const reasons: Reason[] = [];
  if (!isGroupEnabled)
    reasons.push({ code: 'group_disabled', message: `group '${group}' is disabled and holds entry ${id} until it is enabled` });
  if (pool !== null && groupMaxActiveJobs !== null && groupLiveCount >= groupMaxActiveJobs)
    reasons.push({ code: 'group_full', message: `group '${group}' is full: ${groupLiveCount} live of at most ${groupMaxActiveJobs}` });
  return reasons;
}

/** A pool has at most twice live of what its executors take at once: no bell waits behind a backlog of bells. */
function explainPool({ id, pool, poolLiveCount }: WaitingEntry, pools: PoolSizes): Reason[] {
  if (pool === null) return [];
  const size = Object.hasOwn(pools, pool) ? pools[pool] : undefined;
  if (!size) {
    const message = `pool '${pool}' of entry ${id} does not exist: this deployment has ${Object.keys(pools).join(', ')}`;
    return [{ code: 'pool_missing', message }];
  }
  const most = 2 * size.concurrency * size.batchSize;
  if (poolLiveCount < most) return [];
  return [{ code: 'pool_full', message: `pool '${pool}' is full: ${poolLiveCount} live of at most ${most}` }];
}
