import { expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import type { Reply } from './use-api.ts';
import { useOperations } from './use-operations.ts';

const { engine, post, get } = useOperations();

/** What a function may answer. */
const MOST_BYTES = 6 * 1024 * 1024;
/** As it is sent: the body is a text inside of JSON. */
const sentBytes = ({ status, headers, text }: Reply) => Buffer.byteLength(JSON.stringify({ statusCode: status, headers, body: text }));
const windowsPaths = 'C:\\'.repeat(260_000);
const orders = `[${Array(29_900).fill(JSON.stringify({ id: 1, sku: 'a', qty: 2 }))}]`;

const declare = (count: number) =>
  engine.sync(Array.from({ length: count }, (_, index) => ({ externalId: `job-${index}`, schedule: { type: 'none' } })));

/** The number of items, page by page, of a list whose every page fits into an answer. */
async function readPages(path: string): Promise<number[]> {
  const counts: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const reply = await get(path, { query: { cursor } });
    expect(sentBytes(reply)).toBeLessThan(MOST_BYTES);
    counts.push(reply.json.items.length);
    cursor = reply.json.nextCursor;
  }
  return counts;
}

it.each([
  ['backslashes', windowsPaths],
  ['JSON as text', { orders }],
])('pages of runs fit into an answer when their inputs are full of %s', async (_, input) => {
  await declare(4);
  for (const index of [0, 1, 2, 3]) expect((await post(`/v1/manifests/job-${index}/trigger`, { input })).status).toBe(202);
  await engine.dispatch();
  expect(await readPages('/v1/executions')).toEqual([3, 1]);
});

it.each([
  ['dead letters', '/v1/dead-letters'],
  ['manifests', '/v1/manifests'],
  ['workflows', '/v1/workflows'],
])('pages of %s fit into an answer when they are full of backslashes', async (_, path) => {
  await declare(4);
  const heavy = JSON.stringify(windowsPaths);
  await engine.database.query(sql`update waybill.manifest set input = ${heavy}::jsonb`);
  await engine.database.query(sql`
    insert into waybill.workflow (name, owner, pool, input_schema, deployment_version)
    select 'work-' || n, 'test', 'default', ${heavy}::jsonb, (select max(version) from waybill.deployment) from generate_series(1, 4) n`);
  await engine.database.query(sql`
    insert into waybill.dead_letter (execution_id, run_id, input, status, reason, failed_count, resolved_at)
    select n, n, ${heavy}::jsonb, 'acknowledged', 'exhausted', 1, waybill.now() from generate_series(1, 4) n`);
  expect((await readPages(path)).length).toBeGreaterThan(1);
});

it('one run with a large input, many steps and many log lines fits into an answer, with its last lines', async () => {
  await declare(1);
  await post('/v1/manifests/job-0/trigger', { input: windowsPaths });
  await engine.dispatch();
  const id = engine.doorbell.bells[0]!.executionId;
  await engine.database.query(sql`
    insert into waybill.execution_step (execution_id, run_id, name, sequence, state, output, started_at, finished_at)
    select ${id}, ${id}, 'step ' || n, n, 'completed', (select jsonb_agg('k' || k) from generate_series(100, 600) k), now(), now() from generate_series(1, 500) n`);
  await engine.database.query(sql`
    insert into waybill.execution_log (execution_id, run_id, logged_at, level, message, fields)
    select ${id}, ${id}, now(), 'info', n || repeat('"', 1900), jsonb_build_object('f', repeat('\\', 3500)) from generate_series(1, 200) n`);
  const reply = await get(`/v1/executions/${id}`);
  expect(sentBytes(reply)).toBeLessThan(MOST_BYTES);
  const { steps, logs } = reply.json;
  expect([steps.length, steps[0].output?.length, steps[0].outputBytes, steps[499].output, steps[499].outputBytes]).toEqual([
    500,
    501,
    expect.any(Number),
    null,
    steps[0].outputBytes,
  ]);
  expect(logs.length).toBeGreaterThan(30);
  expect(logs.at(-1).message).toMatch(/^200"/);
});
