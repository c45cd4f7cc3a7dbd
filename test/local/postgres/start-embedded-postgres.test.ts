import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageRoot } from '../../../infra/bundle/package-root.ts';
import { findInstallation } from '../../../local/postgres/find-installation.ts';
import { readProcess } from '../../../local/postgres/read-process.ts';
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../../../local/postgres/start-embedded-postgres.ts';
import { isReachedByAll } from '../../support/is-reached-by-all.ts';
import { useTemporaryDirectory } from '../../support/temporary-directory.ts';

const temporary = useTemporaryDirectory();
const endings: (() => unknown)[] = [];
let directory = '';
let dataDirectory = '';

beforeEach(async ({ task }) => {
  directory = join(temporary.path, task.id);
  dataDirectory = join(directory, 'data');
  await mkdir(directory);
});

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  await rm(directory, { recursive: true, force: true });
});

async function start(options: Partial<EmbeddedPostgresOptions> = {}) {
  const postgres = await startEmbeddedPostgres({ dataDirectory, isDurable: false, ...options });
  endings.push(() => postgres.stop());
  return postgres;
}

type StartedServer = { url: string; pid: number };

/** Starts a server from a process that the test may kill. */
async function startInChild({
  durability = 'not-durable',
  ...options
}: {
  durability?: string;
  uid?: number;
  gid?: number;
  env?: object;
} = {}) {
  const child = fork(join(import.meta.dirname, 'start-child.ts'), [dataDirectory, durability], {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    ...options,
    env: { ...process.env, NODE_OPTIONS: '', ...options.env },
  });
  endings.push(() => endChild(child));
  let written = '';
  child.stderr!.on('data', (chunk) => {
    written += chunk;
  });
  const started = new Promise<StartedServer>((resolve, reject) => {
    child.once('message', (message) => resolve(message as StartedServer));
    child.once('close', () => reject(new Error(`the starting process ended: ${written}`)));
  });
  // A test that kills the process before it has started anything does not wait for this.
  started.catch(() => {});
  return { child, started };
}

async function endChild(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  await exited;
}

async function killChild(child: ChildProcess) {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query(text).finally(() => client.end());
  return rows;
}

async function until(isTrue: () => Promise<boolean>) {
  const deadlineAt = Date.now() + 20_000;
  while (!(await isTrue())) {
    if (Date.now() > deadlineAt) throw new Error('the condition did not come true within 20 seconds');
    await delay(5);
  }
}

describe('a server', () => {
  it('answers on 127.0.0.1 alone, with a password that only its owner can read', async () => {
    const { url, port, pid } = await start();
    expect(url).toMatch(new RegExp(`^postgres://waybill:[\\w-]{32}@127\\.0\\.0\\.1:${port}/waybill$`));
    expect((await stat(`${dataDirectory}.password`)).mode & 0o777).toBe(0o600);
    expect((await readProcess(pid))?.parentId).toBe(process.pid);
    expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    expect(await query(url, 'show unix_socket_directories')).toEqual([{ unix_socket_directories: '' }]);
    const intruder = new URL(url);
    intruder.password = 'guessed';
    await expect(query(intruder.href, 'select 1')).rejects.toThrow('password authentication failed');
  });

  it('has UTF-8, UTC and statement statistics, whatever the environment says', async () => {
    const { url } = await start();
    await query(url, 'create extension pg_stat_statements');
    expect(
      await query(
        url,
        `select current_setting('server_encoding') as encoding, current_setting('timezone') as zone, upper('é') as upper, current_setting('max_connections') as connections`,
      ),
    ).toEqual([{ encoding: 'UTF8', zone: 'UTC', upper: 'É', connections: '200' }]);
  });

  it('keeps its data and its password from one start to the next', async () => {
    const first = await start();
    await query(first.url, 'create table kept as select 7 as value');
    await first.stop();
    const second = await start();
    expect(await query(second.url, 'select value from kept')).toEqual([{ value: 7 }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it('tells a stop from a death', async () => {
    const exits: unknown[] = [];
    const first = await start();
    first.onExit((exit) => exits.push(exit));
    await first.stop();
    const second = await start();
    second.onExit((exit) => exits.push(exit));
    await second.kill();
    await second.stop();
    expect(exits).toEqual([
      { code: 0, signal: null, isExpected: true },
      { code: null, signal: 'SIGKILL', isExpected: false },
    ]);
  });

  it('leaves durability on unless it is told otherwise', async () => {
    const settings = `select string_agg(name || '=' || setting, ' ' order by name) as settings from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit')`;
    const careless = await start();
    expect(await query(careless.url, settings)).toEqual([{ settings: 'fsync=off full_page_writes=off synchronous_commit=off' }]);
    await careless.stop();
    const durable = await start({ isDurable: true });
    expect(await query(durable.url, settings)).toEqual([{ settings: 'fsync=on full_page_writes=on synchronous_commit=on' }]);
  });
});

describe('after a kill', () => {
  it('of the server while rows are being written, no committed row is missing', async () => {
    const first = await start({ isDurable: true });
    await query(first.url, 'create table ledger (value int)');
    const client = new pg.Client({ connectionString: first.url });
    client.on('error', () => {});
    await client.connect();
    let committedCount = 0;
    const writing = (async () => {
      while (true) {
        await client.query('insert into ledger values ($1)', [committedCount]);
        committedCount += 1;
        if (committedCount === 50) void first.kill();
      }
    })();
    await expect(writing).rejects.toThrow();
    expect(committedCount).toBeGreaterThanOrEqual(50);
    const second = await start({ isDurable: true });
    const rows = await query(
      second.url,
      `select count(*) filter (where value < ${committedCount})::int as kept, count(*)::int as total from ledger`,
    );
    expect(rows[0]?.kept).toBe(committedCount);
    expect(rows[0]?.total).toBeLessThanOrEqual(committedCount + 1);
  });

  it('of the process that started it, the orphaned server is stopped and another takes its place', async () => {
    const { child, started } = await startInChild({ durability: 'durable' });
    const orphan = await started;
    await query(orphan.url, 'create table kept as select 7 as value');
    await killChild(child);
    expect((await readProcess(orphan.pid))?.command).toContain(dataDirectory);
    const lines: string[] = [];
    const next = await start({ isDurable: true, log: (line) => lines.push(line) });
    expect(await readProcess(orphan.pid)).toBeUndefined();
    expect(lines).toEqual([expect.stringContaining(`stopping postgres ${orphan.pid}`)]);
    expect(await query(next.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });

  it('of process and server both, their database starts again', async () => {
    const { child, started } = await startInChild({ durability: 'durable' });
    const { url, pid } = await started;
    await query(url, 'create table kept as select 7 as value');
    await killChild(child);
    process.kill(pid, 'SIGKILL');
    const next = await start({ isDurable: true });
    expect(await query(next.url, 'select value from kept')).toEqual([{ value: 7 }]);
  });

  it('a backend that outlives its server keeps the next one waiting until it has gone', async () => {
    const first = await start();
    const client = new pg.Client({ connectionString: first.url });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query('select pg_backend_pid() as backend');
    process.kill(rows[0].backend, 'SIGSTOP');
    await first.kill();
    const starting = start();
    try {
      await until(async () =>
        (await readFile(`${dataDirectory}.log`, 'utf8').catch(() => '')).includes('pre-existing shared memory block'),
      );
    } finally {
      process.kill(rows[0].backend, 'SIGCONT');
    }
    expect(await query((await starting).url, 'select 1 as value')).toEqual([{ value: 1 }]);
  });

  it('in the middle of the first start, the next one begins afresh and leaves nothing over', async () => {
    const { child } = await startInChild();
    const drafts = async () => (await readdir(directory)).filter((name) => name.includes('.draft-'));
    await until(async () => {
      const [draft] = await drafts();
      return draft !== undefined && (await readdir(join(directory, draft)).catch(() => [] as string[])).includes('PG_VERSION');
    });
    await killChild(child);
    expect(await drafts()).toHaveLength(1);
    const next = await start();
    expect(await query(next.url, 'select 1 as value')).toEqual([{ value: 1 }]);
    expect((await readdir(directory)).sort()).toEqual(['data', 'data.log', 'data.password']);
  });

  it('a stranger who has the dead server’s process id is neither signalled nor in the way', async () => {
    const first = await start();
    await first.kill();
    const stranger = spawn('sleep', ['60']);
    endings.push(() => stranger.kill('SIGKILL'));
    await once(stranger, 'spawn');
    const path = join(dataDirectory, 'postmaster.pid');
    await writeFile(path, (await readFile(path, 'utf8')).replace(/^\d+/, String(stranger.pid)));
    const next = await start();
    expect(await query(next.url, 'select 1 as value')).toEqual([{ value: 1 }]);
    expect(stranger.exitCode ?? stranger.signalCode).toBeNull();
  });
});

describe('a start is refused', () => {
  it('while another process is using the directory, which it goes on using', async () => {
    const { url } = await (await startInChild()).started;
    await expect(start()).rejects.toThrow(/is in use by process \d+: stop that process, or choose another directory with --data-dir/);
    expect(await query(url, 'select 1 as value')).toEqual([{ value: 1 }]);
  });

  it('on the data of another major version, which is not touched', async () => {
    await mkdir(dataDirectory);
    await writeFile(join(dataDirectory, 'PG_VERSION'), '17\n');
    await expect(start()).rejects.toThrow(/was written by postgres 17, but postgres 18 is installed/);
    expect(await readdir(directory, { recursive: true })).toEqual(['data', 'data/PG_VERSION']);
  });

  it('in a directory of other files, which are left alone', async () => {
    await mkdir(dataDirectory);
    await writeFile(join(dataDirectory, 'thesis.txt'), 'years of work');
    await expect(start()).rejects.toThrow(/has files in it but no database/);
    expect(await readdir(dataDirectory)).toEqual(['thesis.txt']);
  });

  it('on a port that is taken, with the server’s own words', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    endings.push(() => taken.close());
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    await expect(start({ port })).rejects.toThrow(new RegExp(`nothing else listens on port ${port}[^]*Address already in use`));
  });

  it('on a port that cannot be', async () => {
    await expect(start({ port: 70_000 })).rejects.toThrow('database port 70000 is invalid: it must be a whole number from 1 to 65535');
  });

  it('when the password is gone', async () => {
    await (await start()).stop();
    await rm(`${dataDirectory}.password`);
    await expect(start()).rejects.toThrow(/cannot read the database password .*data\.password: restore it/);
  });

  it('on a platform without binaries, naming those that have them', async () => {
    await expect(findInstallation('win32-x64')).rejects.toThrow(
      /no embedded postgres is installed for win32-x64: supported are darwin-arm64, .*--database-url/,
    );
  });
});

describe.runIf(process.getuid?.() === 0 && isReachedByAll(packageRoot))(
  'when the tests run as root, in a checkout that others can reach',
  () => {
    const nobody = { uid: 65534, gid: 65534 };

    /** What nobody has to pass through on the way to the data. */
    async function openToAll() {
      await chmod(temporary.path, 0o711);
      await chmod(directory, 0o711);
    }

    it('an ordinary user can start a server too', async () => {
      await openToAll();
      await chown(directory, nobody.uid, nobody.gid);
      const { url, pid } = await (await startInChild({ ...nobody, env: { HOME: directory, TMPDIR: directory } })).started;
      expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
      expect(await query(url, 'select 1 as value')).toEqual([{ value: 1 }]);
    });

    it('the data of an ordinary user stays theirs when root starts the server', async () => {
      await openToAll();
      await chown(directory, nobody.uid, nobody.gid);
      const { child, started } = await startInChild({ ...nobody, env: { HOME: directory, TMPDIR: directory } });
      await query((await started).url, 'create table kept as select 7 as value');
      await endChild(child);
      const { url, pid } = await start();
      expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
      expect(await query(url, 'select value from kept')).toEqual([{ value: 7 }]);
    });

    it('a server that was made in a user namespace starts where namespaces are forbidden', async () => {
      await openToAll();
      const first = await start();
      expect((await stat(dataDirectory)).uid).toBe(0);
      await query(first.url, 'create table kept as select 7 as value');
      await first.stop();
      const programs = join(directory, 'programs');
      await mkdir(programs);
      for (const name of ['setpriv', 'true']) await symlink(`/usr/bin/${name}`, join(programs, name));
      const { url, pid } = await (await startInChild({ env: { PATH: programs } })).started;
      expect((await stat(`/proc/${pid}`)).uid).toBe(nobody.uid);
      expect((await stat(join(dataDirectory, 'base'))).uid).toBe(nobody.uid);
      expect(await query(url, 'select value from kept')).toEqual([{ value: 7 }]);
    });
  },
);
