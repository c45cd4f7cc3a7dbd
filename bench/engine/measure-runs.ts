import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { BenchDatabase, BenchServer } from './bench-server.ts';
import { readProcessorTime } from './read-processor-time.ts';
import { type RunningEngine, runEngine } from './run-engine.ts';
import { median, timeWork } from './statement-time.ts';

const BATCH_SIZES = [1, 10];
/** Invocations that run side by side. More than there are processors, as each of them mostly waits for commits. */
const EXECUTORS = 8;
const COMMITS = 500;

export interface RunFigures {
  batchSize: number;
  runsPerSecond: number;
  /** Processor time of the whole server, background work included; undefined where there is no /proc. */
  processorMicroseconds: number | undefined;
  /** Time spent in statements, waits included. */
  statementMicroseconds: number;
}

export interface RunsAndYardstick {
  runs: RunFigures[];
  /** Processor time of one transaction that updates one row: what this machine, as busy as it is, takes for the smallest of writes. */
  commitMicroseconds: number | undefined;
}

export interface MeasureRuns {
  runCount: number;
  passCount: number;
}

/**
 * The whole way of a run but for the queue: admitted by the dispatcher, bell noted, claimed, run and recorded by an executor. Batch sizes take
 * turns. A first, short pass of each warms caches and connections and is not counted.
 */
export async function measureRuns(
  server: BenchServer,
  subject: BenchDatabase,
  { runCount, passCount }: MeasureRuns,
): Promise<RunsAndYardstick> {
  const passes = BATCH_SIZES.map((batchSize) => ({ batchSize, engine: runEngine(subject, { batchSize }), figures: [] as RunFigures[] }));
  const commits: number[] = [];
  for (let pass = 0; pass <= passCount; pass++) {
    commits.push(...(await measureCommits(server, subject.database)));
    for (const { batchSize, engine, figures } of passes) {
      const count = pass === 0 ? Math.ceil(runCount / 10) : runCount;
      await queueRuns(subject.database, count);
      const measured = await measurePass(server, subject.database, engine, { batchSize, count });
      if (pass > 0) figures.push(measured);
    }
  }
  return { runs: passes.map(({ batchSize, figures }) => summarize(batchSize, figures)), commitMicroseconds: medianOf(commits) };
}

function summarize(batchSize: number, figures: RunFigures[]): RunFigures {
  return {
    batchSize,
    runsPerSecond: median(figures.map(({ runsPerSecond }) => runsPerSecond)),
    processorMicroseconds: medianOf(figures.flatMap(({ processorMicroseconds }) => processorMicroseconds ?? [])),
    statementMicroseconds: median(figures.map(({ statementMicroseconds }) => statementMicroseconds)),
  };
}

const medianOf = (values: number[]) => (values.length ? median(values) : undefined);

async function measureCommits(server: BenchServer, database: Database): Promise<number[]> {
  const before = await readProcessorTime(server.processId);
  for (let count = 0; count < COMMITS; count++) await database.query(sql`update waybill.scheduler_state set last_cycle_at = waybill.now()`);
  const after = await readProcessorTime(server.processId);
  return before === undefined || after === undefined ? [] : [((after - before) * 1000) / COMMITS];
}

/** An entry for each of the first manifests, as a schedule would have queued it. */
async function queueRuns(database: Database, count: number): Promise<void> {
  await database.query(sql`
    insert into waybill.work_queue (workflow_name, manifest_id, group_id, origin, occurrence_at, initiator_type)
    select workflow_name, id, group_id, 'schedule', clock_timestamp(), 'schedule' from waybill.manifest where id <= ${count}`);
  await database.query(sql`analyze waybill.work_queue`);
}

async function measurePass(
  server: BenchServer,
  database: Database,
  engine: RunningEngine,
  { batchSize, count }: { batchSize: number; count: number },
): Promise<RunFigures> {
  const before = await readProcessorTime(server.processId);
  const { result, elapsedMs, databaseMs } = await timeWork(database, () => runAll(engine, batchSize));
  const after = await readProcessorTime(server.processId);
  if (result !== count) throw new Error(`${result} runs were recorded, but ${count} were queued`);
  return {
    batchSize,
    runsPerSecond: count / (elapsedMs / 1000),
    processorMicroseconds: before === undefined || after === undefined ? undefined : ((after - before) * 1000) / count,
    statementMicroseconds: (databaseMs * 1000) / count,
  };
}

/** Admits and runs until nothing is queued any more. */
async function runAll(engine: RunningEngine, batchSize: number): Promise<number> {
  let recordedCount = 0;
  for (;;) {
    await engine.dispatch();
    const batches = splitBatches(engine.bells.takeBells(), batchSize);
    if (!batches.length) return recordedCount;
    const execute = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const count = await engine.execute(batch);
        recordedCount += count;
      }
    };
    await Promise.all(Array.from({ length: EXECUTORS }, execute));
  }
}

function splitBatches(ids: ExecutionId[], size: number): ExecutionId[][] {
  return Array.from({ length: Math.ceil(ids.length / size) }, (_, index) => ids.slice(index * size, (index + 1) * size));
}
