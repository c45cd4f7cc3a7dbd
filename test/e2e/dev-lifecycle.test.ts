import { existsSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import type { ProcessRecord } from '../../local/lambda/left-behind-processes.ts';
import { readProcess } from '../../local/postgres/read-process.ts';
import { askApi, listExecutions, listManifests } from '../support/ask-api.ts';
import { type DevProcess, useDev } from '../support/dev-process.ts';
import { isRunning } from '../support/list-tree.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/*
 * The life of one data directory, told in order: each test goes on where the one before it stopped, since every start costs seconds of CPU.
 */
const temporary = useTemporaryDirectory();
const local = useDev();
const app = 'examples/etl/app.ts';
const manifestIds = ['extract-customers', 'extract-orders', 'load-customers', 'load-orders', 'nightly-report', 'report-orders'];
const patience = { timeout: 180_000 };

let dataDirectory = '';
let dev: DevProcess;
let apiUrl = '';

async function startAgain(): Promise<void> {
  dev = local.start({ app, dataDirectory });
  apiUrl = await dev.untilReady();
}

/** The lines that tell of finished runs, as `manifest #id state`. */
const runLines = () =>
  [...dev.stdout.matchAll(/^\d\d:\d\d:\d\d [✓✗○] (\S+) #(\d+) (\w+)/gm)].map(([, name, id, state]) => ({ name, id, state }));

/**
 * A run that finishes from now on: proof that everything from the schedule to the recorded outcome works. One is due every ten seconds; waiting
 * for the heartbeat, which comes every minute, would hide a wake that got lost.
 */
async function awaitFreshRun(): Promise<void> {
  const [latest] = await listExecutions(apiUrl);
  await waitFor(
    'a run that is newer than all others to complete',
    async () => (await listExecutions(apiUrl, 'state=completed')).some(({ id }) => Number(id) > Number(latest?.id ?? 0)),
    { seconds: 30, describe: () => dev.stdout + dev.stderr },
  );
}

beforeAll(async () => {
  dataDirectory = join(temporary.path, 'data');
  await startAgain();
}, 180_000);

test('a start from nothing prints one ready line and says what runs, what is declared and what is due', () => {
  expect(dev.stdout.match(/^ready http:\/\/127\.0\.0\.1:\d+$/gm)).toHaveLength(1);
  expect(dev.stdout).toContain('manifests  6 (6 created, 0 changed, 0 unchanged, 0 pruned)');
  for (const id of manifestIds) expect(dev.stdout).toContain(`  + ${id}\n`);
  expect(/^functions {2}(.*)$/m.exec(dev.stdout)?.[1]?.split(', ').toSorted()).toEqual(
    ['Activator', 'Api', 'Dispatcher', 'Housekeeping', 'Manager', 'Migrate', 'Pool-default/Executor', 'Sync'].map((name) => `Jobs/${name}`),
  );
  expect(dev.stdout).toMatch(/^next due {3}\S+ in \d+ (s|min|h), \S+ in \d+ (s|min|h), \S+ in \d+ (s|min|h)$/m);
  expect(dev.stdout).not.toMatch(/^not (run|checked)/m);
  expect(dev.stderr).toBe('');
});

test('endpoints.json names every address, for its owner only', async () => {
  const { api, database, sqs, aws, ...others } = dev.readEndpoints();
  expect(others).toEqual({});
  expect(api).toBe(apiUrl);
  // Nobody has signed these requests: what counts is that the one takes any caller and the other wants to know who is calling.
  expect((await fetch(sqs, { method: 'POST' })).status).toBeGreaterThanOrEqual(400);
  expect((await fetch(aws, { method: 'POST' })).status).toBe(403);
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query('select external_id from waybill.manifest order by external_id');
  await client.end();
  expect(rows.map((row) => row.external_id)).toEqual(manifestIds);
  expect(statSync(join(dataDirectory, 'endpoints.json')).mode & 0o077).toBe(0);
});

test('the address serves the page and the API', async () => {
  const page = await fetch(apiUrl);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  expect(await page.text()).toContain('<title>');
  expect(await askApi(apiUrl, '/v1/health')).toMatchObject({ status: 'ok' });
  expect((await listManifests(apiUrl)).map(({ externalId }) => externalId).sort()).toEqual(manifestIds);
});

test('runs of the app complete, and each finished run is one line', patience, async () => {
  await awaitFreshRun();
  const { finished, lines } = await waitFor(
    'a line for every finished run',
    async () => {
      const all = await listExecutions(apiUrl);
      const found = all.filter(({ finishedAt }) => finishedAt !== null);
      const told = runLines();
      return found.length === told.length && { finished: found, lines: told };
    },
    { seconds: 20, describe: () => dev.stdout },
  );
  const byId = (one: { id?: string | undefined }, other: { id?: string | undefined }) => Number(one.id) - Number(other.id);
  expect(lines.sort(byId)).toEqual(finished.sort(byId).map(({ id, manifest, state }) => ({ id, name: manifest, state })));
  expect(finished.filter(({ state }) => state === 'completed').map(({ manifest }) => manifest)).toContain('extract-orders');
});

test('a second start on the data directory is refused, and the first goes on', patience, async () => {
  const second = local.start({ app, dataDirectory });
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr).toBe(
    `the data directory '${dataDirectory}' is in use by another waybill dev: stop that one, or choose another directory with --data-dir and another port with --port\n`,
  );
  expect(await second.listLeftBehind()).toEqual([]);
  expect(dev.readEndpoints().api).toBe(apiUrl);
  await awaitFreshRun();
});

test('a second start on the port is refused, and the first goes on', patience, async () => {
  const { port } = new URL(apiUrl);
  const second = local.start({ app, dataDirectory: join(temporary.path, 'other'), port });
  expect(await second.ended).toEqual({ code: 1, signal: null });
  expect(second.stderr).toBe(`port ${port} is in use: stop what uses it or choose another with --port\n`);
  expect(await second.listLeftBehind()).toEqual([]);
  await awaitFreshRun();
});

test('Ctrl-C ends every process and removes what only a running cloud has', patience, async () => {
  expect((await dev.listTree()).length).toBeGreaterThan(4);
  const startedAt = performance.now();
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  console.log(`stopped in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  expect(await dev.listLeftBehind()).toEqual([]);
  expect(dev.stdout).toMatch(/\nstopping… [\s\S]*stopped\n$/);
  for (const name of ['endpoints.json', 'processes.json', 'postgres/postmaster.pid']) {
    expect(existsSync(join(dataDirectory, name)), name).toBe(false);
  }
  await expect(fetch(apiUrl)).rejects.toThrow('fetch failed');
});

/** Starts, and waits for the synthesis to be under way and noted. */
async function startHalfway(): Promise<DevProcess> {
  const starting = local.start({ app, dataDirectory });
  await waitFor('the synthesis to be noted', () => existsSync(join(dataDirectory, 'processes.json')), {
    seconds: 30,
    describe: () => starting.stdout + starting.stderr,
  });
  expect((await starting.listTree()).length).toBeGreaterThan(0);
  return starting;
}

test('Ctrl-C during a start gives it up and ends every process', patience, async () => {
  const interrupted = await startHalfway();
  expect(await interrupted.interrupt()).toEqual({ code: 0, signal: null });
  expect(interrupted.stdout).toMatch(/\nstopping… stopped\n$/);
  expect(interrupted.stdout).not.toMatch(/^ready/m);
  expect(interrupted.stderr).toBe('');
  expect(await interrupted.listLeftBehind()).toEqual([]);
});

test(
  'a start after one that was killed halfway ends its synthesis, keeps the history and is ready within half a minute',
  patience,
  async () => {
    const killed = await startHalfway();
    await killed.killAlone();
    const listSyntheses = async () => (await killed.listLeftBehind()).filter((command) => command.includes('infra/app.ts'));
    expect(await listSyntheses()).toHaveLength(1);
    const startedAt = performance.now();
    dev = local.start({ app, dataDirectory });
    await waitFor('the new start to have processes of its own', async () => (await dev.listTree()).length > 0, { seconds: 30 });
    expect(await listSyntheses()).toEqual([]);
    apiUrl = await dev.untilReady();
    const seconds = (performance.now() - startedAt) / 1000;
    console.log(`started again in ${seconds.toFixed(1)} s`);
    // Seven seconds on two idle cores. When more wants to run than there are cores, everything takes that much longer.
    expect(seconds / Math.max(loadavg()[0]! / availableParallelism(), 1)).toBeLessThan(30);
    expect(dev.stdout).toContain('manifests  6 (0 created, 0 changed, 6 unchanged, 0 pruned)');
    expect(await killed.listLeftBehind()).toEqual([]);
    const history = await listExecutions(apiUrl);
    expect(history.map(({ id }) => id)).toContain('1');
    await awaitFreshRun();
  },
);

test('a start after kill -9 of the supervisor alone ends the processes it left, and works', patience, async () => {
  const postmaster = Number.parseInt(readFileSync(join(dataDirectory, 'postgres/postmaster.pid'), 'utf8'), 10);
  const functions = JSON.parse(readFileSync(join(dataDirectory, 'processes.json'), 'utf8')) as ProcessRecord[];
  await dev.killAlone();
  // Nothing is frozen by chance here: all functions rest between the runs, which are seconds apart.
  expect(await Promise.all(functions.map(isRunning)), 'frozen functions outlive a killed supervisor').toContain(true);
  expect(await readProcess(postmaster)).toMatchObject({ command: expect.stringContaining(dataDirectory) });

  const killed = dev;
  await startAgain();
  expect(await killed.listLeftBehind()).toEqual([]);
  expect(await readProcess(postmaster)).toBeUndefined();
  expect(dev.stderr).toBe('');
  await awaitFreshRun();
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  expect(await dev.listLeftBehind()).toEqual([]);
});
