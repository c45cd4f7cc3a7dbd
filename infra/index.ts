import { resolve } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import type { IHttpRouteAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { FunctionName } from './bundle/build-bundles.ts';
import { BundleError } from './bundle/bundle-error.ts';
import { Activator } from './constructs/activator.ts';
import { provideBundles } from './constructs/bundled-code.ts';
import { checkRetention } from './constructs/check-retention.ts';
import type { WaybillDatabase } from './constructs/database.ts';
import { Deployment } from './constructs/deployment.ts';
import { describeToLocalCloud } from './constructs/describe-to-local-cloud.ts';
import { ExecutorPool } from './constructs/executor-pool.ts';
import { WaybillHttpApi } from './constructs/http-api.ts';
import { type PoolOptions, resolvePools } from './constructs/pool-settings.ts';
import { type LogLevel, Process, type ProcessProps } from './constructs/process.ts';
import { BellQueue } from './constructs/queues.ts';
import { Schedules } from './constructs/schedules.ts';

export { WaybillDatabase } from './constructs/database.ts';
export type { ExecutorPool } from './constructs/executor-pool.ts';
export type { PoolOptions } from './constructs/pool-settings.ts';
export type { LogLevel } from './constructs/process.ts';

export interface WaybillProps {
  /** The module whose default export is the app, relative to the working directory: `./app.ts`. */
  readonly app: string;
  readonly database: WaybillDatabase;
  /** Executors by name. There is always one called `default`, which may be sized here too. */
  readonly pools?: Readonly<Record<string, PoolOptions>>;
  /** How the manager is woken. `steady`: by a heartbeat every minute, and sooner by the wake queue. */
  readonly wake?: 'steady';
  /** Who may call the HTTP API. Default: IAM. */
  readonly authorizer?: IHttpRouteAuthorizer;
  /** How many days runs, and what else is history, are kept, 1 to 3650. Default 90. */
  readonly retentionDays?: number;
  /** Default `info`. */
  readonly logLevel?: LogLevel;
}

const managerTimeoutSeconds = 60;
const dispatcherTimeoutSeconds = 60;

/**
 * A job scheduler: the user's app and everything that runs it. Functions know queues, never each other, so there are no circles in the template;
 * each may send exactly to the queues whose URL its environment carries.
 */
export class Waybill extends Construct {
  /** Where the HTTP API answers. */
  readonly apiUrl: string;
  /** What {@link grantActivate} lets others invoke; `createActivationClient` asks for it. */
  readonly activatorFunctionName: string;
  readonly #activator: Activator;
  readonly #pools: ReadonlyMap<string, ExecutorPool>;

  constructor(scope: Construct, id: string, { app, database, pools, authorizer, retentionDays, logLevel = 'info' }: WaybillProps) {
    super(scope, id);
    const poolSettings = resolvePools(pools);
    const bundles = provideBundles(this, { app: resolve(app), poolNames: Object.keys(poolSettings) });
    const process = (processId: string, name: FunctionName, props: Pick<ProcessProps, 'description' | 'timeoutSeconds' | 'environment'>) =>
      new Process(this, processId, { bundleDirectory: bundles[name], database, logLevel, ...props });

    const wake = new BellQueue(this, 'Wake', { readerTimeoutSeconds: managerTimeoutSeconds }).queue;
    const dispatch = new BellQueue(this, 'Dispatch', { readerTimeoutSeconds: dispatcherTimeoutSeconds }).queue;
    const wakeUrl = { WAYBILL_WAKE_QUEUE_URL: wake.queueUrl };
    const dispatchUrl = { WAYBILL_DISPATCH_QUEUE_URL: dispatch.queueUrl };

    const executors = Object.entries(poolSettings).map(
      ([name, settings]) =>
        new ExecutorPool(this, `Pool-${name}`, {
          name,
          settings,
          bundleDirectory: bundles.executor,
          database,
          logLevel,
          wakeQueue: wake,
          dispatchQueue: dispatch,
        }),
    );
    this.#pools = new Map(executors.map((pool) => [pool.name, pool]));
    const workQueues = executors.map((pool) => pool.workQueue);
    const poolsByName = { WAYBILL_POOLS: describePools(this, executors) };

    const manager = process('Manager', 'manager', {
      description: 'decides what is due and writes it to the work queue',
      timeoutSeconds: managerTimeoutSeconds,
      environment: { ...poolsByName, ...wakeUrl, ...dispatchUrl },
    });
    manager.answer(wake, { batchSize: 10, concurrency: 2 });
    manager.grantRing(wake, dispatch, ...workQueues);
    // The next heartbeat is the retry: one that waited, or was repeated minutes later, would only compete with it.
    manager.answerOnlyFresh();

    const dispatcher = process('Dispatcher', 'dispatcher', {
      description: 'admits queued work within capacity and rings the executors',
      timeoutSeconds: dispatcherTimeoutSeconds,
      environment: { ...poolsByName, ...wakeUrl, ...dispatchUrl },
    });
    dispatcher.answer(dispatch, { batchSize: 10, concurrency: 2 });
    // The wake queue for plans that end as they are started; its own for work that it had to pass over.
    dispatcher.grantRing(wake, dispatch, ...workQueues);

    this.#activator = new Activator(this, 'Activator', {
      bundleDirectory: bundles.activator,
      database,
      logLevel,
      dispatchQueue: dispatch,
    });
    this.activatorFunctionName = this.#activator.function.functionName;

    const housekeeping = process('Housekeeping', 'housekeeping', {
      description: 'prunes what is past its retention and audits the invariants',
      timeoutSeconds: 300,
      environment: { WAYBILL_RETENTION_DAYS: checkRetention(retentionDays) },
    });
    housekeeping.answerOnlyFresh();

    // API Gateway gives up after thirty seconds; a function that gives up first can still say why.
    const api = process('Api', 'api', {
      description: 'answers the HTTP API and serves the dashboard',
      timeoutSeconds: 29,
      environment: { ...wakeUrl, ...dispatchUrl, WAYBILL_POOL_SIZES: describePoolSizes(executors) },
    });
    api.grantRing(wake, dispatch);
    this.apiUrl = new WaybillHttpApi(this, 'Http', { process: api, ...(authorizer ? { authorizer } : {}) }).url;

    const schedules = new Schedules(this, 'Schedules', { manager, housekeeping });

    const migrate = process('Migrate', 'migrate', {
      description: 'brings the schema up to date before a deployment changes the functions',
      timeoutSeconds: 600,
    });
    const sync = process('Sync', 'sync', {
      description: 'applies the definitions of the app after a deployment changed the functions',
      timeoutSeconds: 120,
      environment: wakeUrl,
    });
    sync.grantRing(wake);
    new Deployment(this, 'Deployment', {
      migrate,
      sync,
      processes: [...executors.map((pool) => pool.process), manager, dispatcher, this.#activator, housekeeping, api, schedules],
    });

    describeToLocalCloud(this, { database, sync, executors: executors.map((pool) => pool.process) });
  }

  /** The pool's executors, to grant them what their workflows use. */
  pool(name: string): ExecutorPool {
    const pool = this.#pools.get(name);
    if (pool) return pool;
    throw new BundleError(
      'invalid_stack',
      `there is no pool '${name}': this stack has ${[...this.#pools.keys()].join(', ')}; add it to pools`,
    );
  }

  /** Lets another function activate dormant dependents, for runs whose capability it was given. */
  grantActivate(grantee: IGrantable): void {
    this.#activator.grantActivate(grantee);
  }
}

/** The pools as the dispatcher and the manager read them, with queue URLs that are known only after deployment. */
function describePools(scope: Construct, pools: readonly ExecutorPool[]): string {
  const described = pools.map(({ name, workQueue, settings: { concurrency, batchSize } }) => [
    name,
    { queueUrl: workQueue.queueUrl, concurrency, batchSize },
  ]);
  return Stack.of(scope).toJsonString(Object.fromEntries(described));
}

/** The pools as the api explains them: it says why work waits for one, and knows no queue that it does not ring. */
function describePoolSizes(pools: readonly ExecutorPool[]): string {
  return JSON.stringify(
    Object.fromEntries(pools.map(({ name, settings: { concurrency, batchSize } }) => [name, { concurrency, batchSize }])),
  );
}
