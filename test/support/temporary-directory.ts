import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';

/** A directory of the calling file's (or describe block's) own, removed after its tests. */
export function useTemporaryDirectory(): { readonly path: string } {
  let path: string | undefined;
  beforeAll(async () => {
    path = await realpath(await mkdtemp(join(tmpdir(), 'waybill-test-')));
  });
  afterAll(async () => {
    if (path) await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return {
    get path() {
      if (!path) throw new Error('the temporary directory exists only inside tests and hooks: read its path there');
      return path;
    },
  };
}
