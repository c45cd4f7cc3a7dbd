import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll } from 'vitest';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';

const execute = promisify(execFile);

export interface Package {
  /** What was packed, as a directory. */
  readonly directory: string;
  readonly archive: string;
  readonly files: readonly { path: string }[];
  readonly packedBytes: number;
  readonly unpackedBytes: number;
}

/** The package as `npm run package` builds it, in a directory of the calling file's own: several may be built at once, and none is left behind. */
export function usePackage(): { readonly current: Package } {
  const temporary = useTemporaryDirectory();
  let current: Package | undefined;
  beforeAll(async () => {
    const directory = join(temporary.path, 'package');
    await execute(process.execPath, ['infra/bundle/build-package.ts', directory], { cwd: packageRoot });
    const { stdout } = await execute('npm', ['pack', directory, '--pack-destination', temporary.path, '--json'], { cwd: temporary.path });
    const [{ filename, files, size, unpackedSize }] = JSON.parse(stdout);
    current = { directory, archive: join(temporary.path, filename), files, packedBytes: size, unpackedBytes: unpackedSize };
  }, 300_000);
  return {
    get current() {
      if (!current) throw new Error('the package exists only inside tests and the hooks that follow its own: read it there');
      return current;
    },
  };
}
