import { chmod, mkdtemp, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from './read-process.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.ts';
import { stopOrphan } from './stop-orphan.ts';
import { watchOver } from './watch-over.ts';

/** Begins the name of every such directory; the id of the process that made it follows. */
const PREFIX = 'waybill-postgres-';

/**
 * Runs a Postgres for data that nobody will miss when this process is gone: for tests and measurements. It lives in a temporary directory, and stopping it removes both. A process that is
 * killed cannot do that, so a watch is set over it before there is anything to leave behind; if the watch is killed as well, the next start sweeps what is left, which is recognised by the
 * dead process's id in its name.
 */
export async function startThrowawayPostgres({ isDurable }: { isDurable: boolean }): Promise<EmbeddedPostgres> {
  await sweepAbandoned();
  const directory = await realpath(await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`)));
  // Where Postgres has to run as somebody else, that one must be able to reach its own directory in here.
  await chmod(directory, 0o711);
  const watch = watchOver(directory);
  const clean = async () => {
    await remove(directory);
    watch.end();
  };
  try {
    const postgres = await startEmbeddedPostgres({ dataDirectory: join(directory, 'data'), isDurable });
    return {
      ...postgres,
      async stop() {
        await postgres.stop();
        await clean();
      },
    };
  } catch (error) {
    await clean();
    throw error;
  }
}

/** What belongs to another user of the machine is theirs to sweep. */
async function sweepAbandoned(): Promise<void> {
  const parent = await realpath(tmpdir());
  for (const name of await readdir(parent)) {
    const processId = Number(name.startsWith(PREFIX) && name.slice(PREFIX.length).split('-')[0]);
    if (!processId || isAlive(processId)) continue;
    const directory = join(parent, name);
    const owner = await stat(directory).catch(() => undefined);
    if (owner?.uid !== process.getuid?.()) continue;
    await stopOrphan(join(directory, 'data'));
    await remove(directory);
  }
}

function remove(directory: string): Promise<void> {
  return rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
