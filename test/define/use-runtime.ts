import { beforeEach } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { type PutResult, putManifests, type WriteContext } from '../../shared/define/put-manifests.ts';
import type { RuntimeManifest } from '../../shared/define/read-runtime-manifest.ts';
import { type Engine, useFreshEngine } from '../support/engine.ts';
import { deploy } from './use-sync.ts';

/** A manifest as a request states it; a test states only what matters to it. */
export const job = (externalId: string, more: Partial<RuntimeManifest> = {}): RuntimeManifest => ({
  externalId,
  workflow: 'work',
  schedule: { type: 'none' },
  ...more,
});

/** All in one group, so that only manifests can wait for each other. */
export const following = (...dependsOn: string[]) => ({ schedule: { type: 'dependent' as const, dependsOn }, group: 'runtime' });

/** The engine, empty at the beginning of every test but for an app that knows the workflow `work` and declares `of-the-app`. */
export function useRuntime(): {
  engine: Engine;
  contextOf(): WriteContext;
  put(...manifests: unknown[]): Promise<PutResult[]>;
  manifest(externalId: string): Promise<Record<string, unknown> | undefined>;
} {
  const engine = useFreshEngine();
  const contextOf = (): WriteContext => ({ ...engine, initiator: { type: 'user', id: 'u1', name: 'Ada' } });
  beforeEach(async () => {
    await deploy(engine, [{ externalId: 'of-the-app' }]);
  });
  return {
    engine,
    contextOf,
    put: (...manifests) => putManifests(contextOf(), manifests),
    manifest: async (externalId) =>
      (
        await engine.rows<Record<string, unknown>>(
          sql`select * from waybill.manifest where external_id = ${externalId} and deleted_at is null`,
        )
      )[0],
  };
}
