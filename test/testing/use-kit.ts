import { afterEach } from 'vitest';
import { z } from 'zod';
import { createTestKit, type TestKit, type TestKitOptions } from '../../local/testing/index.ts';
import { type App, app, type Scheduler, type WorkflowContext, workflow } from '../../shared/index.ts';

/** What a run of `work` does: returns, or throws. */
export type Behaviour = (context: WorkflowContext, input: Record<string, unknown>) => unknown;

export const work = workflow({ name: 'work', input: z.record(z.string(), z.unknown()), run: (): unknown => null });

/** An app whose one workflow does what it is told. */
export function appOf(manifests: (scheduler: Scheduler, doing: typeof work) => void, behaviour: Behaviour = () => null): App {
  const doing = workflow({ ...work, run: behaviour });
  return app({ name: 'test', workflows: [doing], manifests: (scheduler) => manifests(scheduler, doing) });
}

/** Kits that are closed, and so checked, after each test. */
export function useKits(): (app: App, options?: TestKitOptions) => Promise<TestKit> {
  const open: TestKit[] = [];
  afterEach(async () => {
    for (const kit of open.splice(0)) await kit.close();
  });
  return async (app, options) => {
    const kit = await createTestKit(app, options);
    open.push(kit);
    return kit;
  };
}

/** When the runs of a manifest began, by the kit's clock. */
export async function startsOf(kit: TestKit, manifest: string): Promise<(string | null)[]> {
  return (await kit.runs({ manifest })).map(({ startedAt }) => startedAt);
}
