import { syncApp } from '../../shared/define/sync.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { BenchDatabase } from './bench-server.ts';
import { type RunningEngine, runEngine } from './run-engine.ts';
import { median } from './statement-time.ts';

const CHAIN = ['hop-a', 'hop-b', 'hop-c'];

/**
 * Milliseconds from the recorded end of a run to the recorded end of its dependent, in a chain A → B → C: the parent's outcome marks the dependent
 * due, the manager queues it, the dispatcher admits it, an executor runs it. Nothing waits for a tick, and no queue lies in between.
 */
export async function measureHops(subject: BenchDatabase, chainCount: number): Promise<number> {
  const engine = runEngine(subject, { batchSize: 1 });
  await declareChain(subject);
  const initiator = { type: 'system' as const, id: null, name: 'bench' };
  const hopsMs: number[] = [];
  // The first time through warms caches and connections and is not counted.
  for (let round = 0; round <= chainCount; round++) {
    await trigger({ database: subject.database, doorbell: engine.bells, initiator }, { externalId: CHAIN[0]! });
    await runNext(engine);
    const startedAt = performance.now();
    for (let hop = 1; hop < CHAIN.length; hop++) {
      await engine.manage();
      await runNext(engine);
    }
    if (round > 0) hopsMs.push((performance.now() - startedAt) / (CHAIN.length - 1));
  }
  return median(hopsMs);
}

async function runNext(engine: RunningEngine): Promise<void> {
  await engine.dispatch();
  const bells = engine.bells.takeBells();
  const recordedCount = await engine.execute(bells);
  if (recordedCount !== 1) throw new Error(`the chain recorded ${recordedCount} runs where one was expected`);
}

async function declareChain({ database }: BenchDatabase): Promise<void> {
  await syncApp(
    database,
    {
      name: 'bench-chain',
      workflows: [{ name: 'work', pool: 'default' }],
      groups: [{ name: 'chain' }],
      manifests: CHAIN.map((externalId, index) => ({
        externalId,
        workflow: 'work',
        input: {},
        group: 'chain',
        schedule: index === 0 ? { type: 'none' } : { type: 'dependent', dependsOn: [CHAIN[index - 1]!], mode: 'all' },
      })),
    },
    'bench',
  );
}
