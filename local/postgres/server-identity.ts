import { execFile } from 'node:child_process';
import { lchown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** As whom Postgres runs: what to put before its command line, and whose its files must be. */
export type ServerIdentity = { readonly prefix: readonly string[]; takeOwnership(path: string): Promise<void> };

const nobody = 65534;
const inOwnNamespace = ['unshare', '--user', `--map-user=${nobody}`, `--map-group=${nobody}`, '--'];
const asUser = (userId: number, groupId: number) => ['setpriv', `--reuid=${userId}`, `--regid=${groupId}`, '--clear-groups', '--'];

/**
 * Postgres refuses to run as root, so root has to become somebody else, in one of three ways that all keep the process id:
 * - A data directory that belongs to another user is served as that user, so that a single start with sudo does not lock its owner out.
 * - In a user namespace root is called nobody, yet keeps the right to its own files: nothing changes owner, and a home of mode 0700 is no obstacle.
 * - Where namespaces are forbidden (many containers), Postgres runs as the real nobody, and its files are given to nobody.
 */
export async function chooseServerIdentity(dataDirectory: string): Promise<ServerIdentity> {
  if (process.getuid?.() !== 0) return { prefix: [], takeOwnership: async () => {} };
  const owner = await stat(dataDirectory).catch(() => undefined);
  if (owner && owner.uid !== 0) return runAs(owner.uid, owner.gid);
  if (await works(inOwnNamespace)) return { prefix: inOwnNamespace, takeOwnership: async () => {} };
  if (await works(asUser(nobody, nobody))) return runAs(nobody, nobody);
  throw new Error(
    `postgres does not run as root, and neither 'unshare' nor 'setpriv' could become another user here: start as an ordinary user, or use --database-url`,
  );
}

function runAs(userId: number, groupId: number): ServerIdentity {
  return { prefix: asUser(userId, groupId), takeOwnership: (path) => giveTo(path, userId, groupId) };
}

/** The top comes last: it is what the next start looks at, so a kill half-way through is repeated from the beginning. */
async function giveTo(path: string, userId: number, groupId: number): Promise<void> {
  const found = await stat(path);
  if (found.uid === userId) return;
  const inside = found.isDirectory() ? await readdir(path, { recursive: true }) : [];
  for (const name of inside) await lchown(join(path, name), userId, groupId);
  await lchown(path, userId, groupId);
}

async function works([command, ...args]: readonly string[]): Promise<boolean> {
  return promisify(execFile)(command!, [...args, 'true']).then(
    () => true,
    () => false,
  );
}
