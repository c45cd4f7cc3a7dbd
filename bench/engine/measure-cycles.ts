import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { managerCycle } from '../../shared/manager/cycle.ts';
import type { BenchServer } from './bench-server.ts';
import { decideByLoadingEverything } from './load-everything.ts';
import { plantManifests } from './plant-manifests.ts';
import { recordBells } from './record-bells.ts';
import { median, timeWork } from './statement-time.ts';

const DUE = 100;

export interface MeasureCycles {
  registeredCounts: number[];
  cycleCount: number;
  /** The stand-in is measured up to this many manifests; beyond, it takes longer than anybody would wait. */
  mostForStandIn: number;
  standInCount: number;
}

export interface CycleTimes {
  registeredCount: number;
  someDue: Timing;
  noneDue: Timing;
  standIn: Timing | undefined;
}

export interface Timing {
  elapsedMs: number;
  databaseMs: number;
}

interface Subject {
  registeredCount: number;
  database: Database;
  someDue: Timing[];
  noneDue: Timing[];
  standIn: Timing[];
}

/**
 * One manager cycle with a hundred manifests due among a few or very many. The sizes take turns, so that whatever else the machine does
 * in the meantime falls on all of them alike and the ratios stay sound.
 */
export async function measureCycles(server: BenchServer, options: MeasureCycles, say: (line: string) => void): Promise<CycleTimes[]> {
  const subjects: Subject[] = [];
  for (const registeredCount of options.registeredCounts) {
    say(`registering ${registeredCount.toLocaleString('en')} manifests`);
    const { database } = await server.createDatabase(`cycles_${registeredCount}`);
    await plantManifests(database, { count: registeredCount });
    subjects.push({ registeredCount, database, someDue: [], noneDue: [], standIn: [] });
  }
  say(`measuring ${options.cycleCount} manager cycles with ${DUE} due, and as many with none, at each size`);
  // The first round warms caches and connections and is not counted.
  for (let round = 0; round <= options.cycleCount; round++) {
    for (const subject of subjects) {
      const { database } = subject;
      await makeDue(subject, round);
      const someDue = await timeCycle(database, DUE);
      await putOff(database);
      const noneDue = await timeCycle(database, 0);
      if (round > 0 && someDue) subject.someDue.push(someDue);
      if (round > 0 && noneDue) subject.noneDue.push(noneDue);
    }
  }
  const inReach = subjects.filter(({ registeredCount }) => registeredCount <= options.mostForStandIn);
  say(`measuring the stand-in, which loads everything, ${options.standInCount} times at ${inReach.length} sizes`);
  for (let round = 0; round < options.standInCount; round++) {
    for (const { database, registeredCount, standIn } of inReach) {
      const measured = await timeWork(database, () => decideByLoadingEverything(database));
      if (measured.result.loadedCount !== registeredCount)
        throw new Error(`the stand-in loaded ${measured.result.loadedCount} manifests of ${registeredCount}`);
      standIn.push(measured);
    }
  }
  for (const { database } of subjects) await database.close();
  return subjects.map(({ registeredCount, someDue, noneDue, standIn }) => ({
    registeredCount,
    someDue: summarize(someDue),
    noneDue: summarize(noneDue),
    standIn: standIn.length ? summarize(standIn) : undefined,
  }));
}

/** Makes a hundred manifests from all over the table due, others in every round, and takes what the last round queued out of the way. */
async function makeDue({ database, registeredCount }: Subject, round: number): Promise<void> {
  const stride = Math.floor(registeredCount / DUE);
  const ids = Array.from({ length: DUE }, (_, index) => 1 + index * stride + (round % stride));
  await putOff(database);
  await database.query(sql`delete from waybill.work_queue where status = 'queued'`);
  await database.query(sql`
    update waybill.manifest set next_occurrence_at = waybill.now() - interval '1 second', next_due_at = waybill.now() - interval '1 second'
     where id = any(${ids}::bigint[])`);
}

/** What earlier rounds have advanced would come due by itself while others are measured. */
async function putOff(database: Database): Promise<void> {
  await database.query(sql`
    update waybill.manifest set next_occurrence_at = next_occurrence_at + interval '1 day', next_due_at = next_due_at + interval '1 day'
     where next_due_at < waybill.now() + interval '10 minutes'`);
}

/** Undefined when a manifest's own time came just then, so that the cycle had something else to do than was meant. */
async function timeCycle(database: Database, expectedCount: number): Promise<Timing | undefined> {
  const measured = await timeWork(database, () => managerCycle({ database, doorbell: recordBells(), pools: {} }));
  const { dueCount, queuedCount } = measured.result;
  return dueCount === expectedCount && queuedCount === expectedCount ? measured : undefined;
}

function summarize(timings: Timing[]): Timing {
  return {
    elapsedMs: median(timings.map(({ elapsedMs }) => elapsedMs)),
    databaseMs: median(timings.map(({ databaseMs }) => databaseMs)),
  };
}
