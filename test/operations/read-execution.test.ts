import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { listExecutions } from '../../shared/operations/list-executions.ts';
import { readExecution } from '../../shared/operations/read-execution.ts';
import { useDatabase } from '../support/database.ts';
import { plantIn } from './plant.ts';

const server = useDatabase();
let database: Database;
beforeAll(() => {
  database = openDatabase({ url: server.url });
});
afterAll(() => database.close());

const startedAt = new Date('2026-01-01T00:00:01.500Z');
const finishedAt = new Date('2026-01-01T00:00:02Z');
const failed = {
  state: 'failed',
  failure_code: 'error',
  failure_message: 'no route to host',
  started_at: startedAt,
  finished_at: finishedAt,
};

it('an execution reads with its failure, progress, initiator and times', async () => {
  const plant = plantIn(server.pool);
  const id = await plant.execution({
    ...failed,
    manifest_id: await plant.manifest('reads'),
    workflow_name: 'extract',
    input: { source: 'api' },
    failure_step: 'download',
    failure_stack: 'Error: no route to host\n    at download',
    initiator_id: 'u1',
    initiator_name: 'Ada',
    progress_done: 3,
    progress_total: 10,
    occurrence_at: new Date('2026-01-01T00:00:00Z'),
    created_at: new Date('2026-01-01T00:00:00.100Z'),
    sent_at: new Date('2026-01-01T00:00:00.200Z'),
  });
  const shared = {
    id,
    runId: id,
    manifest: 'reads',
    workflow: 'extract',
    state: 'failed',
    attempt: 1,
    origin: 'manual',
    occurrenceAt: '2026-01-01T00:00:00.000Z',
    initiator: { type: 'user', id: 'u1', name: 'Ada' },
    input: { source: 'api' },
    output: null,
    failure: { code: 'error', message: 'no route to host', step: 'download' },
    progress: { done: 3, total: 10, message: null },
    createdAt: '2026-01-01T00:00:00.100Z',
    sentAt: '2026-01-01T00:00:00.200Z',
    startedAt: '2026-01-01T00:00:01.500Z',
    finishedAt: '2026-01-01T00:00:02.000Z',
    parentId: null,
    rootId: id,
  };
  expect((await listExecutions(database, { limit: 1 })).items).toEqual([shared]);
  expect(await readExecution(database, id)).toEqual({
    ...shared,
    failure: { ...shared.failure, stack: 'Error: no route to host\n    at download' },
    items: { count: 0, failedCount: 0, warningCount: 0 },
    steps: [],
    logs: [],
    plan: null,
    children: [],
    attempts: [
      {
        id,
        workflow: 'extract',
        stepName: null,
        groupIndex: null,
        state: 'failed',
        attempt: 1,
        failureMessage: 'no route to host',
        startedAt: '2026-01-01T00:00:01.500Z',
        finishedAt: '2026-01-01T00:00:02.000Z',
      },
    ],
  });
});

it('all attempts of a run are listed with each of them, and nested runs are not taken for attempts', async () => {
  const plant = plantIn(server.pool);
  const first = await plant.execution(failed);
  const nested = await plant.execution({ ...failed, parent_id: first, root_id: first, run_id: first });
  const sibling = await plant.execution({ ...failed, parent_id: first, root_id: first, run_id: first });
  const second = await plant.execution({ ...failed, run_id: first, attempt: 2 });
  const attemptsOf = async (id: string) => (await readExecution(database, id))?.attempts.map((attempt) => attempt.id);
  expect(await attemptsOf(first)).toEqual([first, second]);
  expect(await attemptsOf(second)).toEqual([first, second]);
  expect(await attemptsOf(nested)).toEqual([nested]);
  expect((await readExecution(database, first))?.children.map(({ id }) => id)).toEqual([nested, sibling]);
});

it('a step of a plan lists the attempts at its own place only', async () => {
  const plant = plantIn(server.pool);
  const plan = await plant.execution({ ...failed, current_group_index: 0, group_count: 1 });
  const place = (position: number) => ({ parent_id: plan, root_id: plan, group_index: 0, position, step_name: `step ${position}` });
  const first = await plant.execution({ ...failed, ...place(0) });
  const other = await plant.execution({ ...failed, ...place(1), run_id: first });
  const retry = await plant.execution({ ...failed, ...place(0), run_id: first, attempt: 2 });
  expect((await readExecution(database, retry))?.attempts.map(({ id }) => id)).toEqual([first, retry]);
  expect((await readExecution(database, plan))?.children.map(({ id, stepName }) => [id, stepName])).toEqual([
    [first, 'step 0'],
    [retry, 'step 0'],
    [other, 'step 1'],
  ]);
});

it('steps are shown in order; an output above 4 KiB is told by its size', async () => {
  const plant = plantIn(server.pool);
  const id = await plant.execution({ state: 'completed', finished_at: finishedAt, output: JSON.stringify('done') });
  const large = JSON.stringify('x'.repeat(5000));
  await plant.step({ execution_id: id, run_id: id, sequence: 2, name: 'second', output: large });
  await plant.step({ execution_id: id, run_id: id, sequence: 1, name: 'first', output: '{"rows":3}' });
  const execution = await readExecution(database, id);
  expect(execution?.output).toBe('done');
  expect(execution?.steps).toMatchObject([
    { name: 'first', state: 'completed', output: { rows: 3 }, outputBytes: 11 },
    { name: 'second', output: null, outputBytes: 5002 },
  ]);
});

it('an id beyond 64 bits or not a number names no execution', async () => {
  for (const id of ['0', '-1', '9223372036854775808', '99999999999999999999', '1e3', ' 1', "1' or '1'='1", '']) {
    expect(await readExecution(database, id)).toBeUndefined();
  }
});
