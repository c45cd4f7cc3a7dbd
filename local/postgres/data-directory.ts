import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresInstallation } from './find-installation.ts';
import { isAlive } from './read-process.ts';
import type { ServerIdentity } from './server-identity.ts';

export const superuser = 'waybill';

/** The one spelling of the directory's path, through symbolic links, by which a running server is recognised as this directory's. */
export async function resolveDataDirectory(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  return realpath(path).catch(async () => join(await realpath(dirname(path)), basename(path)));
}

/** The major version that wrote the directory, undefined before the first start. */
export async function readDataVersion(dataDirectory: string): Promise<string | undefined> {
  return readFile(join(dataDirectory, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

/** The superuser's password, made at the first start and kept beside the data for its owner's eyes only. */
export async function ensurePassword(dataDirectory: string, { isInitialised }: { isInitialised: boolean }): Promise<string> {
  const path = passwordPath(dataDirectory);
  const read = () => readFile(path, 'utf8').then((text) => text.trim());
  if (isInitialised) {
    return read().catch((cause) => {
      throw new Error(`cannot read the database password ${path}: restore it, or move ${dataDirectory} away to start afresh`, { cause });
    });
  }
  // Linked into place whole: a kill leaves no half-written password, and of two processes that race both read the first one's.
  const draft = `${draftPath(dataDirectory)}.password`;
  await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600 });
  await link(draft, path).catch(ignore('EEXIST'));
  await rm(draft);
  return read();
}

/**
 * Makes a new cluster in a directory beside the final one and renames it into place. A kill before the rename leaves a draft, named after the dead
 * process and swept by the next start; after it, the cluster is complete. A directory with PG_VERSION in it is therefore never half made.
 */
export async function initialiseDataDirectory(
  dataDirectory: string,
  { installation, identity, isDurable }: { installation: PostgresInstallation; identity: ServerIdentity; isDurable: boolean },
): Promise<void> {
  const present = await readdir(dataDirectory).catch(() => [] as string[]);
  if (present.includes('PG_VERSION')) return;
  if (present.length > 0)
    throw new Error(`${dataDirectory} has files in it but no database: choose an empty or a new directory with --data-dir`);
  const draft = draftPath(dataDirectory);
  await mkdir(draft, { mode: 0o700 });
  try {
    await identity.takeOwnership(draft);
    await identity.takeOwnership(passwordPath(dataDirectory));
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const access = [`--username=${superuser}`, `--pwfile=${passwordPath(dataDirectory)}`, '--auth=scram-sha-256'];
    const durability = isDurable ? [] : ['--no-sync'];
    const [command, ...args] = [...identity.prefix, installation.initdb, `--pgdata=${draft}`, ...locale, ...access, ...durability];
    await promisify(execFile)(command!, args, { env: serverEnvironment() });
    await rename(draft, dataDirectory).catch(ignore('ENOTEMPTY', 'EEXIST'));
  } catch (cause) {
    const said = (cause as { stderr?: string }).stderr?.trim() || String(cause);
    throw new Error(
      `cannot make a database in ${dataDirectory}: ${said}; choose another directory with --data-dir, or use --database-url`,
      {
        cause,
      },
    );
  } finally {
    await remove(draft);
  }
}

/** Nothing of the caller's environment but the PATH: a PGDATA or LC_ALL meant for another server must not change this one. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/** Removes what killed starts left unfinished. A draft with our own process id is one, too: in a container each start may get the same id. */
export async function sweepDrafts(dataDirectory: string): Promise<void> {
  const prefix = `${basename(dataDirectory)}.draft-`;
  for (const name of await readdir(dirname(dataDirectory))) {
    const processId = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : Number.NaN;
    const isAbandoned = processId === process.pid || (processId > 0 && !isAlive(processId));
    if (isAbandoned) await remove(join(dirname(dataDirectory), name));
  }
}

/** Removing is retried because the initdb of a killed process may still be writing: it ends when its files are gone. */
function remove(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

function draftPath(dataDirectory: string): string {
  return `${dataDirectory}.draft-${process.pid}`;
}

function passwordPath(dataDirectory: string): string {
  return `${dataDirectory}.password`;
}

function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) throw error;
  };
}
