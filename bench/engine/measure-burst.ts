import { managerCycle } from '../../shared/manager/cycle.ts';
import type { BenchServer } from './bench-server.ts';
import { plantManifests } from './plant-manifests.ts';
import { readProcessorTime } from './read-processor-time.ts';
import { recordBells } from './record-bells.ts';
import { timeWork } from './statement-time.ts';

export interface BurstFigures {
  dueCount: number;
  /** Fewer than were due when the time was used up. */
  queuedCount: number;
  seconds: number;
  databaseSeconds: number;
  /** Of the whole server; undefined where there is no /proc. */
  processorSeconds: number | undefined;
  rowsPerSecond: number;
}

/** No further round is begun after this: a cycle that becomes slower with every round would take hours. */
const MOST_MS = 60_000;

/** Everything that is registered becomes due at the same instant, and one cycle queues it, round after round. */
export async function measureBurst(server: BenchServer, dueCount: number): Promise<BurstFigures> {
  const { database, drop } = await server.createDatabase('burst');
  await plantManifests(database, { count: dueCount, isDue: true });
  const before = await readProcessorTime(server.processId);
  const stopAt = performance.now() + MOST_MS;
  const { result, elapsedMs, databaseMs } = await timeWork(database, () =>
    managerCycle({ database, doorbell: recordBells(), pools: {}, hasTime: () => performance.now() < stopAt }),
  );
  const after = await readProcessorTime(server.processId);
  await drop();
  const seconds = elapsedMs / 1000;
  return {
    dueCount,
    queuedCount: result.queuedCount,
    seconds,
    databaseSeconds: databaseMs / 1000,
    processorSeconds: before === undefined || after === undefined ? undefined : (after - before) / 1000,
    rowsPerSecond: result.queuedCount / seconds,
  };
}
