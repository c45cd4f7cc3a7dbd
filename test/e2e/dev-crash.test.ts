import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { useDev } from '../support/dev-process.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const temporary = useTemporaryDirectory();
const local = useDev();
const app = 'test/e2e/apps/ledger.ts';

interface Execution {
  id: string;
  runId: string;
  manifest: string;
  state: string;
  attempt: number;
  failure: string | null;
}

interface Effect {
  effect: 'began' | 'ended';
  id: string;
  runId: string;
  manifest: string;
  attempt: number;
}

/** One connection per look: whoever holds one open would be the last to notice that the server was killed. */
async function query<Row extends object>(databaseUrl: string, statement: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(statement)).rows;
  } finally {
    await client.end();
  }
}

const readExecutions = (databaseUrl: string) =>
  query<Execution>(
    databaseUrl,
    `select e.id::text, e.run_id::text as "runId", m.external_id as manifest, e.state, e.attempt, e.failure_code as failure
       from waybill.execution e join waybill.manifest m on m.id = e.manifest_id order by e.id`,
  );

/** Pairs of executions of one manifest that were unfinished at the same time, at whatever time that was. */
const readOverlaps = (databaseUrl: string) =>
  query(
    databaseUrl,
    `select one.id, other.id as other from waybill.execution one join waybill.execution other
         on other.manifest_id = one.manifest_id and other.id > one.id and other.created_at < coalesce(one.finished_at, 'infinity')`,
  );

test('kill -9 of every process during runs loses nothing and repeats nothing but the lost attempts', { timeout: 360_000 }, async () => {
  const dataDirectory = join(temporary.path, 'data');
  const ledger = join(temporary.path, 'ledger');
  const readLedger = () =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Effect);
  const start = { app, dataDirectory, environment: { LEDGER: ledger } };

  const killed = local.start(start);
  await killed.untilReady();
  const before = await waitFor(
    'several slow runs under way, and a steady one done',
    async () => {
      const found = await readExecutions(killed.readEndpoints().database);
      const underWay = found.filter(({ manifest, state }) => manifest !== 'steady' && state === 'in_progress');
      const isSteady = found.some(({ manifest, state }) => manifest === 'steady' && state === 'completed');
      return isSteady && underWay.length >= 4 && underWay.every(({ id }) => readLedger().some((one) => one.id === id)) && found;
    },
    { seconds: 60, describe: () => killed.stdout + killed.stderr },
  );
  await killed.killTree();
  const effectsBefore = readLedger();
  // What has begun and not ended by then was killed in its midst, whatever the database was told.
  const interrupted = effectsBefore.filter(
    ({ effect, id }) => effect === 'began' && !effectsBefore.some((one) => one.effect === 'ended' && one.id === id),
  );
  expect(interrupted.length).toBeGreaterThanOrEqual(3);

  const dev = local.start(start);
  await dev.untilReady();
  const { database } = dev.readEndpoints();
  const after = await waitFor(
    'every run that was killed to have completed in another attempt',
    async () => {
      expect(await readOverlaps(database)).toEqual([]);
      const found = await readExecutions(database);
      const isOver = (runId: string) => found.some((one) => one.runId === runId && one.state === 'completed');
      return [...before, ...interrupted].every(({ runId }) => isOver(runId)) && found;
    },
    { seconds: 120, describe: () => dev.stdout + dev.stderr },
  );

  for (const { id, state } of before) {
    const now = after.find((one) => one.id === id);
    if (state === 'completed') expect(now).toMatchObject({ state });
    else expect(['completed', 'failed'], `execution ${id} was ${state} and is ${now?.state}`).toContain(now?.state);
  }
  for (const { runId } of interrupted) {
    const attempts = after.filter((one) => one.runId === runId).map(({ state, attempt, failure }) => ({ state, attempt, failure }));
    expect(attempts).toEqual([
      { state: 'failed', attempt: 1, failure: 'lease_lost' },
      { state: 'completed', attempt: 2, failure: null },
    ]);
  }

  const effects = readLedger();
  const repeated = effects.filter(({ effect, id }, index) => effects.findIndex((one) => one.effect === effect && one.id === id) !== index);
  expect(repeated, 'effects that one attempt had twice').toEqual([]);
  const endedRuns = new Set(effects.filter(({ effect }) => effect === 'ended').map(({ runId }) => runId));
  expect(after.filter(({ state, runId }) => state === 'completed' && !endedRuns.has(runId))).toEqual([]);

  const last = Math.max(...after.map(({ id }) => Number(id)));
  await waitFor(
    'the steady manifest to go on',
    async () =>
      (await readExecutions(database)).some(
        ({ id, state, manifest }) => Number(id) > last && manifest === 'steady' && state === 'completed',
      ),
    { seconds: 30, describe: () => dev.stdout + dev.stderr },
  );
  expect(await query(database, 'select external_id from waybill.manifest where next_due_at is null')).toEqual([]);
  expect(await query(database, `select id from waybill.dead_letter`)).toEqual([]);
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  expect(await dev.listLeftBehind()).toEqual([]);
});
