import { once } from 'node:events';
import pg from 'pg';
import { ensurePassword, initialiseDataDirectory, readDataVersion, resolveDataDirectory, sweepDrafts } from './data-directory.ts';
import { findInstallation } from './find-installation.ts';
import { type LaunchedServer, launchServer } from './launch-server.ts';
import { chooseServerIdentity } from './server-identity.ts';
import { stopOrphan, stopTimeoutSeconds } from './stop-orphan.ts';

export const databaseName = 'waybill';

export type EmbeddedPostgresOptions = {
  /** Where the data lives. The password, the log and, for a moment at the first start, a draft lie beside it under the same name. */
  readonly dataDirectory: string;
  /** A free one when absent. */
  readonly port?: number;
  /** False trades every promise about a power cut for speed: for data that nobody will miss. */
  readonly isDurable: boolean;
  readonly log?: (line: string) => void;
};

/** `isExpected` tells a server that was asked to stop from one that died. */
export type PostgresExit = { readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly isExpected: boolean };

export type EmbeddedPostgres = {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends the sessions, writes a checkpoint and ends; a server that takes too long is killed, which loses nothing committed. */
  stop(): Promise<void>;
  /** Ends the server as a crash would. */
  kill(): Promise<void>;
  /** Calls the listener once, when the server has ended; soon, if it already has. */
  onExit(listener: (exit: PostgresExit) => void): void;
  /** Lets this process end although the server runs. It takes the server along, like any process that exits without stopping its own. */
  unref(): void;
};

/**
 * Runs a Postgres server of our own on 127.0.0.1, as a child of this process. A kill -9 of this process leaves the server running, and the next start on
 * the directory stops it first; a kill -9 of the server is repaired by Postgres itself at the next start. A kill anywhere in here leaves a
 * directory that the next start continues from: each step asks first whether it has been done.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { port, isDurable, log } = options;
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65535)) {
    throw new Error(`database port ${port} is invalid: it must be a whole number from 1 to 65535; leave it out to get a free one`);
  }
  const installation = await findInstallation();
  const dataDirectory = await resolveDataDirectory(options.dataDirectory);
  const dataVersion = await readDataVersion(dataDirectory);
  if (dataVersion && dataVersion !== installation.majorVersion) {
    throw new Error(
      `${dataDirectory} was written by postgres ${dataVersion}, but postgres ${installation.majorVersion} is installed: ` +
        'choose another directory with --data-dir, or serve this one with its own version and --database-url',
    );
  }
  const staleProcessId = await stopOrphan(dataDirectory, log);
  await sweepDrafts(dataDirectory);
  const identity = await chooseServerIdentity(dataDirectory);
  const password = await ensurePassword(dataDirectory, { isInitialised: dataVersion !== undefined });
  if (!dataVersion) await initialiseDataDirectory(dataDirectory, { installation, identity, isDurable });
  await identity.takeOwnership(dataDirectory);
  const server = await launchServer({ dataDirectory, port, isDurable, installation, identity, password, staleProcessId });
  const postgres = controlServer(server);
  try {
    await ensureDatabase(server.urlOf('postgres'));
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  return postgres;
}

function controlServer({ child, port, urlOf }: LaunchedServer): EmbeddedPostgres {
  let isStopping = false;
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  // A process that exits by itself without stopping its server takes the server along; only a killed one leaves an orphan.
  const stopWithProcess = () => child.kill('SIGINT');
  process.once('exit', stopWithProcess);
  const exited = (hasEnded() ? Promise.resolve() : once(child, 'exit')).then((): PostgresExit => {
    process.off('exit', stopWithProcess);
    return { code: child.exitCode, signal: child.signalCode, isExpected: isStopping };
  });
  return {
    url: urlOf(databaseName),
    port,
    pid: child.pid!,
    async stop() {
      isStopping = true;
      child.ref();
      child.kill('SIGINT');
      const impatience = setTimeout(() => child.kill('SIGKILL'), stopTimeoutSeconds * 1000);
      await exited;
      clearTimeout(impatience);
    },
    async kill() {
      child.ref();
      child.kill('SIGKILL');
      await exited;
    },
    onExit(listener) {
      void exited.then(listener);
    },
    unref() {
      child.unref();
    },
  };
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
  } finally {
    await client.end();
  }
}
