import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import type { Engine } from '../support/engine.ts';

export interface Race {
  engine: Engine;
  /** What each of the dispatchers does, again and again. */
  claim(database: Database): Promise<unknown>;
  dispatcherCount: number;
  seconds: number;
  /** Ends the race as soon as this many were seen live at once. */
  stopAtPeak?: number;
}

export interface RaceFigures {
  /** The most executions that were live at once, in all and per group, seen after every claim and by a watcher beside them. */
  peak: number;
  peakOfGroup: Map<number, number>;
  watchedCount: number;
  queuedCount: number;
}

/** Lets dispatchers claim at the same time, with random runs ending in between, until the queue is empty and everything has ended. */
export async function raceDispatchers({ engine, claim, dispatcherCount, seconds, stopAtPeak = Number.POSITIVE_INFINITY }: Race) {
  const { database } = engine;
  const figures: RaceFigures = { peak: 0, peakOfGroup: new Map(), watchedCount: 0, queuedCount: Number.NaN };
  const giveUpAt = Date.now() + seconds * 1000;
  let isOver = false;

  async function look(): Promise<{ queuedCount: number; liveCount: number }> {
    const [seen] = await database.query<{ groups: { groupId: number; count: number }[]; queuedCount: number }>(sql`
      select coalesce(json_agg(json_build_object('groupId', e.group_id, 'count', e.count)), '[]') as groups,
             (select count(*) from waybill.work_queue where status = 'queued') as "queuedCount"
        from (select group_id, count(*) from waybill.execution
               where state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null group by group_id) e`);
    const { groups, queuedCount } = seen!;
    for (const { groupId, count } of groups) figures.peakOfGroup.set(groupId, Math.max(figures.peakOfGroup.get(groupId) ?? 0, count));
    const liveCount = groups.reduce((sum, { count }) => sum + count, 0);
    figures.peak = Math.max(figures.peak, liveCount);
    figures.watchedCount++;
    return { queuedCount, liveCount };
  }

  async function dispatch(): Promise<void> {
    while (!isOver) {
      await claim(database);
      const { queuedCount, liveCount } = await look();
      figures.queuedCount = queuedCount;
      isOver ||= queuedCount + liveCount === 0 || figures.peak >= stopAtPeak || Date.now() > giveUpAt;
      await endSomeRuns(database);
    }
  }
  async function watch(): Promise<void> {
    while (!isOver) await look();
  }
  await Promise.all([watch(), ...Array.from({ length: dispatcherCount }, dispatch)]);
  return figures;
}

async function endSomeRuns(database: Database): Promise<void> {
  await database.query(sql`
    update waybill.execution set state = 'completed', finished_at = waybill.now()
     where id in (select id from waybill.execution where state = 'pending' order by random() limit 1 + floor(random() * 3)::int for no key update skip locked)`);
}
