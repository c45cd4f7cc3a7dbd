import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { serverEnvironment, superuser } from './data-directory.ts';
import type { PostgresInstallation } from './find-installation.ts';
import type { ServerIdentity } from './server-identity.ts';
import { identifyingArguments } from './stop-orphan.ts';

const startTimeoutSeconds = 60;
const notDurable = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off'];

export type Launch = {
  readonly dataDirectory: string;
  readonly port: number | undefined;
  readonly isDurable: boolean;
  readonly installation: PostgresInstallation;
  readonly identity: ServerIdentity;
  readonly password: string;
  readonly staleProcessId: number | undefined;
};

export type LaunchedServer = { readonly child: ChildProcess; readonly port: number; urlOf(database: string): string };

/**
 * Starts Postgres and returns when it answers a query. Two refusals pass by themselves and are tried again: a free port that somebody took
 * first, and the memory of a killed server that its last backends, about to notice the death, still hold.
 */
export async function launchServer(launch: Launch): Promise<LaunchedServer> {
  const deadlineAt = Date.now() + startTimeoutSeconds * 1000;
  const logPath = `${launch.dataDirectory}.log`;
  // The last start's log is kept once: enough to see why a server died, and it cannot grow for ever.
  await rename(logPath, `${logPath}.1`).catch(() => {});
  while (true) {
    const port = launch.port ?? (await findFreePort());
    const child = await spawnServer(launch, port, logPath);
    const urlOf = (database: string) => `postgres://${superuser}:${launch.password}@127.0.0.1:${port}/${database}`;
    const failure = await waitUntilItAnswers(child, { port, password: launch.password }, deadlineAt);
    if (!failure) return { child, port, urlOf };
    child.kill('SIGKILL');
    const written = await readFile(logPath, 'utf8');
    const mayPass =
      /pre-existing shared memory block/.test(written) || (!launch.port && /could not create any TCP\/IP sockets/.test(written));
    if (!mayPass || Date.now() > deadlineAt) throw startError(launch, port, failure, written);
    await delay(100);
  }
}

async function spawnServer({ dataDirectory, isDurable, installation, identity, staleProcessId }: Launch, port: number, logPath: string) {
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=200',
    // As much as the smallest instance in the cloud has. It is taken from the machine only as it is used.
    'shared_buffers=256MB',
    'shared_preload_libraries=pg_stat_statements',
    'timezone=UTC',
    'log_timezone=UTC',
    ...(isDurable ? [] : notDurable),
  ].flatMap((setting) => ['-c', setting]);
  const [command, ...args] = [...identity.prefix, installation.postgres, ...identifyingArguments(dataDirectory), ...settings];
  await using logFile = await open(logPath, 'w', 0o600);
  const child = spawn(command!, args, {
    // A session of its own, or Ctrl-C in the terminal would stop the database before the processes that are still writing to it.
    detached: true,
    stdio: ['ignore', logFile.fd, logFile.fd],
    // The id in a stale postmaster.pid may now be another process's. Postgres passes over its grandparent's id; all its other interlocks stay.
    env: { ...serverEnvironment(), ...(staleProcessId && { PG_GRANDPARENT_PID: String(staleProcessId) }) },
  });
  await once(child, 'spawn');
  return child;
}

/** What went wrong, or undefined when the server answers. While it recovers from a crash it refuses connections, for seconds at most. */
async function waitUntilItAnswers(
  child: ChildProcess,
  { port, password }: { port: number; password: string },
  deadlineAt: number,
): Promise<string | undefined> {
  const ended = once(child, 'exit');
  while (child.exitCode === null && child.signalCode === null) {
    // Raced against the end: on a port that is taken, what answers may be somebody who never says a word.
    const failure = await Promise.race([ended, askOnce(port, password).catch((error: Error) => error)]);
    if (!failure) return undefined;
    if (Date.now() > deadlineAt) return `it did not answer within ${startTimeoutSeconds} seconds (${failure})`;
    await delay(20);
  }
  return `it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`;
}

async function askOnce(port: number, password: string): Promise<undefined> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: superuser,
    password,
    database: 'postgres',
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    // Not awaited: a connection that never was may never end.
    client.end().catch(() => {});
  }
}

function startError({ dataDirectory, port: wanted }: Launch, port: number, failure: string, written: string): Error {
  const lastLines = written.trim().split('\n').slice(-10).join('\n  ');
  const advice = wanted
    ? `check that nothing else listens on port ${port}, or choose another directory with --data-dir`
    : 'choose another directory with --data-dir';
  return new Error(
    `postgres did not start on ${dataDirectory}: ${failure}; ${advice}, or use --database-url. ${dataDirectory}.log ends with\n  ${lastLines}`,
  );
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
