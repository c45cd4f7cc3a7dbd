import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { type ExecutorDependencies, type InvocationResult, runExecutions } from '../../shared/executor/run.ts';
import { type BellMessage, runBatch } from '../../shared/executor/run-batch.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import type { AnyWorkflow } from '../../shared/model/workflow.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { plantIn } from '../operations/plant.ts';
import { useDatabase } from '../support/database.ts';
import { type RecordedDoorbell, recordDoorbell } from '../support/engine.ts';

type Columns = Record<string, unknown>;
type Options = Partial<ExecutorDependencies> & { remainingMs?: number };

/** The executor alone, on a real database with its own clock. Executions are planted as the dispatcher leaves them. */
export interface Executor {
  readonly url: string;
  readonly database: Database;
  readonly doorbell: RecordedDoorbell;
  /** Everything that was logged in this test, as parsed lines. */
  readonly lines: Record<string, unknown>[];
  plant(columns?: Columns): Promise<ExecutionId>;
  plantManifest(externalId: string, columns?: Columns): Promise<string>;
  run(ids: ExecutionId[], workflows: AnyWorkflow[], options?: Options): Promise<InvocationResult>;
  /** Delivers messages; gives the ids of those that come back. */
  deliver(messages: BellMessage[], workflows: AnyWorkflow[], options?: Options): Promise<string[]>;
  row(id: ExecutionId): Promise<Record<string, unknown>>;
}

export function useExecutor(): Executor {
  const source = useDatabase();
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('executor', (line) => lines.push(JSON.parse(line)));
  const doorbell = recordDoorbell();
  let database: Database;
  beforeAll(() => {
    database = openDatabase({ url: source.url, maxConnections: 10 });
  });
  afterAll(() => database.close());
  beforeEach(() => {
    lines.length = 0;
    doorbell.dispatcherPokes = 0;
    doorbell.managerPokes.length = 0;
  });
  const dependencies = (workflows: AnyWorkflow[], options: Options): ExecutorDependencies => ({
    database,
    databaseOptions: { url: source.url },
    doorbell,
    workflows: new Map(workflows.map((one) => [one.name, one])),
    log,
    ...options,
  });
  const invocation = ({ remainingMs = 60_000 }: Options) => ({ requestId: randomUUID(), logStream: 'test', remainingMs });

  return {
    get url() {
      return source.url;
    },
    get database() {
      return database;
    },
    doorbell,
    lines,
    async plant(columns = {}) {
      const plant = plantIn(source.pool);
      const id = await plant.execution({
        state: 'pending',
        workflow_name: 'work',
        pool: 'default',
        group_id: await plant.group('work'),
        ...columns,
      });
      return Number(id) as ExecutionId;
    },
    plantManifest: (externalId, columns) => plantIn(source.pool).manifest(externalId, { workflow_name: 'work', ...columns }),
    run: (executionIds, workflows, options = {}) =>
      runExecutions({ executionIds, ...invocation(options) }, dependencies(workflows, options)),
    deliver: (messages, workflows, options = {}) => runBatch(messages, invocation(options), dependencies(workflows, options)),
    async row(id) {
      const { rows } = await source.pool.query('select * from waybill.execution where id = $1', [id]);
      return rows[0];
    },
  };
}
