import type { Db } from '../../shared/db/database.ts';
import { NotFoundError } from '../../shared/errors.ts';
import { listDeadLetters } from '../../shared/operations/list-dead-letters.ts';
import { listExecutions } from '../../shared/operations/list-executions.ts';
import { listQueue } from '../../shared/operations/list-queue.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { readManifest } from '../../shared/operations/read-manifest.ts';
import type { KnownNames } from './known-names.ts';
import { readAll } from './read-all.ts';
import type { ManifestReference, TestKit } from './test-kit.ts';

/** What a test can see: what the API shows, whole and without pages. */
export function readKit(db: Db, names: KnownNames): Pick<TestKit, 'runs' | 'run' | 'manifest' | 'deadLetters' | 'queue'> {
  const check = ({ manifest, workflow }: { manifest?: ManifestReference; workflow?: string }) => ({
    manifest: manifest === undefined ? undefined : names.manifest(manifest),
    workflow: workflow === undefined ? undefined : names.workflow(workflow),
  });
  return {
    async runs(filter = {}) {
      const checked = { ...filter, ...check(filter) };
      const executions = await readAll((page) => listExecutions(db, { ...checked, ...page }));
      return executions.filter(({ parentId }) => parentId === null).reverse();
    },
    async run(executionId) {
      const execution = await readExecution(db, executionId);
      if (!execution)
        throw new NotFoundError('execution_not_found', `execution '${executionId}' does not exist: runs() lists those that do`);
      return execution;
    },
    async manifest(reference) {
      const externalId = names.manifest(reference);
      const manifest = await readManifest(db, externalId);
      if (!manifest) throw new NotFoundError('manifest_not_found', `manifest '${externalId}' was removed`);
      return manifest;
    },
    async deadLetters({ manifest, status = 'awaiting_intervention' } = {}) {
      const checked = { status, manifest: check({ manifest }).manifest };
      return readAll((page) => listDeadLetters(db, { ...checked, ...page }));
    },
    async queue(filter = {}) {
      const checked = { ...filter, ...check(filter) };
      return readAll((page) => listQueue(db, { ...checked, ...page }));
    },
  };
}
