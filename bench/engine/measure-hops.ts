import type { ManifestDefinition } from '../../shared/define/definition.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import type { BenchDatabase } from './bench-server.ts';
import { type RunningEngine, runEngine } from './run-engine.ts';
import { median } from './statement-time.ts';

const PARTS = ['a', 'b', 'c'];

export interface HopFigures {
  /** From the recorded end of a run to the recorded end of its dependent. */
  chainMs: number;
  /** From the recorded end of a plan's group to the recorded end of the next. */
  planMs: number;
}

/**
 * Milliseconds per hop. In a chain A → B → C the parent's outcome marks the dependent due, the manager queues it, the dispatcher admits it, an executor runs it; in a plan of three groups
 * the outcome releases the next group itself. Nothing waits for a tick, and no queue lies in between.
 */
export async function measureHops(subject: BenchDatabase, count: number): Promise<HopFigures> {
  const engine = runEngine(subject, { batchSize: 1 });
  await declare(subject);
  return {
    chainMs: await measure(subject, engine, { externalId: 'hop-a', count, needsManager: true }),
    planMs: await measure(subject, engine, { externalId: 'hop-plan', count, needsManager: false }),
  };
}

interface Measure {
  externalId: string;
  count: number;
  needsManager: boolean;
}

async function measure({ database }: BenchDatabase, engine: RunningEngine, { externalId, count, needsManager }: Measure): Promise<number> {
  const initiator = { type: 'system' as const, id: null, name: 'bench' };
  const hopsMs: number[] = [];
  // The first time through warms caches and connections and is not counted.
  for (let round = 0; round <= count; round++) {
    await trigger({ database, doorbell: engine.bells, initiator }, { externalId });
    await runNext(engine);
    const startedAt = performance.now();
    for (let hop = 1; hop < PARTS.length; hop++) {
      if (needsManager) await engine.manage();
      await runNext(engine);
    }
    if (round > 0) hopsMs.push((performance.now() - startedAt) / (PARTS.length - 1));
  }
  return median(hopsMs);
}

async function runNext(engine: RunningEngine): Promise<void> {
  await engine.dispatch();
  const bells = engine.bells.takeBells();
  // The last step of a plan ends its plan too, and both are recorded.
  const recordedCount = await engine.execute(bells);
  if (bells.length !== 1 || recordedCount < 1)
    throw new Error(`${bells.length} bells led to ${recordedCount} runs, but one of each was expected`);
}

async function declare({ database }: BenchDatabase): Promise<void> {
  const chain = PARTS.map((part, index): ManifestDefinition => {
    const parent = PARTS[index - 1];
    const schedule =
      parent === undefined ? { type: 'none' as const } : { type: 'dependent' as const, dependsOn: [`hop-${parent}`], mode: 'all' as const };
    return { externalId: `hop-${part}`, workflow: 'work', input: {}, group: 'chain', schedule };
  });
  const plan: ManifestDefinition = {
    externalId: 'hop-plan',
    workflow: null,
    steps: PARTS.map((name) => [{ name, workflow: 'work', input: {}, group: 'chain' }]),
    input: {},
    group: 'chain',
    schedule: { type: 'none' },
  };
  const workflows = [{ name: 'work', pool: 'default' }];
  await syncApp(database, { name: 'bench-chain', workflows, groups: [{ name: 'chain' }], manifests: [...chain, plan] }, 'bench');
}
