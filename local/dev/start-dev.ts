import { createWriteStream, existsSync, mkdirSync, rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import type { SyncReport } from '../../shared/define/sync.ts';
import { messageOf, WaybillError } from '../../shared/errors.ts';
import type { Refusal } from '../aws-endpoint/aws-call.ts';
import type { RunningFunction } from '../cloud/deployment.ts';
import { type Cloud, startCloud } from '../cloud/start-cloud.ts';
import { type DataDirectory, openDataDirectory } from '../data-directory.ts';
import type { Problem } from '../events/problem.ts';
import { type HttpApi, startHttpApi } from '../http-api/http-api.ts';
import { startEmbeddedPostgres } from '../postgres/start-embedded-postgres.ts';
import { type EmbeddedSqs, startEmbeddedSqs } from '../sqs/embedded-sqs.ts';
import { readAssembly } from '../template/read-assembly.ts';
import { reachDatabase } from './reach-database.ts';
import { runNode, synthesize } from './synthesize.ts';
import { type Watched, watchFiles } from './watch-files.ts';

export interface DevOptions {
  entry: string;
  port: number;
  dataDirectory: string;
  /** Instead of the embedded Postgres. */
  databaseUrl?: string;
  isWatching?: boolean;
  /** Gives up a start that is under way: what it has started is ended, and it fails. */
  signal?: AbortSignal;
}

/** What a person at the terminal should hear of. */
export interface DevEvents {
  onProgress(line: string): void;
  /** A line that a function logged, parsed if it is JSON. */
  onLog(functionName: string, line: Record<string, unknown> | string, stream: 'stdout' | 'stderr'): void;
  onRefused(refusal: Refusal): void;
  onProblem(problem: Problem): void;
  /** The definitions of the app were applied. */
  onSynced(report: SyncReport): void;
  /** The embedded Postgres ended by itself. */
  onDatabaseLost(reason: string): void;
}

export interface Dev {
  readonly apiUrl: string;
  readonly databaseUrl: string;
  readonly database: Database;
  readonly cloud: Cloud;
  stop(): Promise<void>;
}

/**
 * The local cloud around one app: data directory, Postgres, SQS and the synthesized stack, restarted or partly rebuilt when files change.
 * Whatever fails on the way up is taken down again, so that a failed start leaves no process and an unharmed data directory.
 */
export async function startDev(options: DevOptions, events: DevEvents): Promise<Dev> {
  const entry = resolve(options.entry);
  if (!existsSync(entry)) {
    throw new WaybillError(
      'entry_missing',
      `there is no file '${options.entry}': give the path of the module whose default export is the app`,
    );
  }
  const undo: (() => unknown)[] = [];
  const aborting = new AbortController();
  const giveUp = () => aborting.abort();
  options.signal?.addEventListener('abort', giveUp);
  async function stop(): Promise<void> {
    aborting.abort();
    for (const step of undo.splice(0).reverse()) await step();
  }
  try {
    const data = await openDataDirectory(options.dataDirectory);
    undo.push(() => data.close());
    const httpApi = await startHttpApi({ port: options.port, apiId: 'local', stageName: '$default', routes: [], identity: LOCAL_IDENTITY });
    undo.push(() => httpApi.close());
    rmSync(data.join('assembly'), { recursive: true, force: true });
    const assemblyDirectory = data.join('assembly', '0');
    // All three at once: the synthesis is the longest, and given up if another fails. All are awaited before what they started is ended.
    const orGiveUp = (error: unknown) => {
      giveUp();
      throw error;
    };
    const [database, sqs, synthesis] = await Promise.allSettled([
      startDatabase(options, data, events).catch(orGiveUp),
      startEmbeddedSqs({ dataDirectory: data.join('sqs') }).catch(orGiveUp),
      synthesize({ entry, outputDirectory: assemblyDirectory, signal: aborting.signal, processes: data }),
    ]);
    if (database.status === 'fulfilled') undo.push(() => database.value.stop());
    if (sqs.status === 'fulfilled') undo.push(() => sqs.value.close());
    for (const part of [database, sqs, synthesis]) if (part.status === 'rejected') throw part.reason;
    const dev = await runStack({
      entry,
      data,
      httpApi,
      events,
      aborting,
      databaseUrl: settled(database).url,
      sqs: settled(sqs),
      isWatching: options.isWatching ?? true,
    });
    undo.push(() => dev.stop());
    return { ...dev, apiUrl: httpApi.url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Whom requests to routes with IAM authorization appear to come from. */
const LOCAL_IDENTITY = {
  accountId: '000000000000',
  userArn: 'arn:aws:iam::000000000000:user/local',
  userId: 'local',
  accessKey: 'LOCAL',
  callerId: 'local',
};

function settled<Value>(result: PromiseSettledResult<Value>): Value {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

async function startDatabase(
  { databaseUrl }: DevOptions,
  data: DataDirectory,
  events: DevEvents,
): Promise<{ url: string; stop(): Promise<void> }> {
  if (databaseUrl) {
    await reachDatabase(databaseUrl);
    return { url: databaseUrl, stop: async () => {} };
  }
  const postgres = await startEmbeddedPostgres({ dataDirectory: data.join('postgres'), isDurable: true });
  postgres.onExit(({ isExpected, code, signal }) => {
    if (!isExpected)
      events.onDatabaseLost(`the embedded postgres ended with ${signal ?? `code ${code}`}: see ${data.join('postgres.log')}`);
  });
  return postgres;
}

interface RunStack {
  entry: string;
  data: DataDirectory;
  httpApi: HttpApi;
  events: DevEvents;
  aborting: AbortController;
  databaseUrl: string;
  sqs: EmbeddedSqs;
  isWatching: boolean;
}

async function runStack({ entry, data, httpApi, events, aborting, databaseUrl, sqs, isWatching }: RunStack): Promise<Omit<Dev, 'apiUrl'>> {
  const { onRefused, onProblem } = events;
  const writeLog = openLogs(data);
  const names = new Map<string, string>();
  let generation = 0;
  let directory = data.join('assembly', '0');
  let cloud = await boot();
  const database = openDatabase({ url: databaseUrl, maxConnections: 1 });

  async function boot(): Promise<Cloud> {
    const assembly = readAssembly(directory);
    const started = await startCloud({
      assembly,
      sqs,
      httpApi,
      databaseUrl,
      onRefused,
      onProblem,
      onProcess: ({ pid, event }) => (event === 'started' ? data.noteProcess(pid) : data.forgetProcess(pid)),
      onLog: ({ functionName, stream, text }) => {
        const name = names.get(functionName) ?? functionName;
        writeLog(name, text);
        events.onLog(name, parseLine(text), stream);
      },
    });
    for (const { settings, displayName } of started.functions) names.set(settings.name, displayName);
    data.writeEndpoints({ api: httpApi.url, database: databaseUrl, sqs: sqs.url, aws: started.awsEndpointUrl });
    for (const { lambda: _, logicalId } of described(started).sync) events.onSynced(started.triggered.get(logicalId) as SyncReport);
    return started;
  }

  /** A change in the app: only the executors' code and the definitions depend on it. */
  async function rebuildApp(): Promise<string[]> {
    const output = data.join('assembly', String(++generation));
    const { executors, sync } = described(cloud);
    const syncFunction = sync[0];
    if (!syncFunction) throw new Error('the stack has no Waybill construct whose app could be rebuilt');
    const buildApp = join(packageRoot, 'local/dev/build-app.ts');
    const argv = [buildApp, entry, output, syncFunction.settings.codeDirectory];
    await runNode({ argv, failureCode: 'app_not_built', signal: aborting.signal, processes: data });
    for (const one of executors) await replaceCode(one, join(output, 'executor'));
    await replaceCode(syncFunction, join(output, 'sync'));
    const result = await syncFunction.lambda.invoke({});
    if (result.status === 'failed') throw new Error(`the definitions could not be applied: ${result.error.errorMessage}`);
    if (result.status === 'succeeded') events.onSynced(result.payload as SyncReport);
    return JSON.parse(await readFile(join(output, 'inputs.json'), 'utf8')) as string[];
  }

  /** A change in the stack or its functions: everything is synthesized and brought up anew; database, queues and port stay. */
  async function resynthesize(): Promise<string[]> {
    const output = data.join('assembly', String(++generation));
    await synthesize({ entry, outputDirectory: output, signal: aborting.signal, processes: data });
    directory = output;
    await cloud.stop();
    cloud = await boot();
    return readInputs(directory);
  }

  const watching = isWatching
    ? await watchSources({ inputs: await readInputs(directory), rebuildApp, resynthesize, events, signal: aborting.signal })
    : undefined;
  return {
    databaseUrl,
    database,
    get cloud() {
      return cloud;
    },
    async stop() {
      await watching?.close();
      await database.close();
      await cloud.stop();
    },
  };

  function described({ functions, constructs }: Cloud): { executors: RunningFunction[]; sync: RunningFunction[] } {
    const named = (wanted: string[]) => functions.filter(({ settings }) => wanted.includes(settings.name));
    return {
      executors: named(constructs.flatMap(({ executorFunctionNames }) => executorFunctionNames)),
      sync: named(constructs.map(({ syncFunctionName }) => syncFunctionName)),
    };
  }
}

async function replaceCode(target: RunningFunction, codeDirectory: string): Promise<void> {
  target.settings = { ...target.settings, codeDirectory };
  await target.lambda.update(target.settings);
}

interface WatchSources {
  inputs: string[];
  rebuildApp(): Promise<string[]>;
  resynthesize(): Promise<string[]>;
  events: DevEvents;
  /** Aborted at the end, which is no problem to report. */
  signal: AbortSignal;
}

/** Watches the app's files, and in a clone those of Waybill itself. Changes are taken one after the other; a failed one leaves what runs. */
async function watchSources({ inputs, rebuildApp, resynthesize, events, signal }: WatchSources): Promise<{ close(): Promise<void> }> {
  const ownRooms = ['infra', 'functions', 'shared'].map((room) => join(packageRoot, room) + sep);
  const isOwn = (file: string) => ownRooms.some((room) => file.startsWith(room));
  const appFiles = (files: string[]) => files.filter((file) => !isOwn(file));
  let working = Promise.resolve();
  const take = (what: string, work: () => Promise<string[]>, watched: () => Watched) => () => {
    working = working.then(async () => {
      const startedAt = performance.now();
      try {
        watched().update(appFiles(await work()));
        events.onProgress(`${what} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      } catch (error) {
        watched().widen();
        if (!signal.aborted) events.onProblem({ source: 'rebuild', message: messageOf(error), error });
      }
    });
  };
  const app: Watched = watchFiles(
    appFiles(inputs),
    take('app rebuilt', rebuildApp, () => app),
  );
  const own = watchFiles(
    packageRoot.includes(`${sep}node_modules${sep}`) ? [] : await listSources(ownRooms),
    take('stack rebuilt', resynthesize, () => app),
  );
  return {
    async close() {
      app.close();
      own.close();
      await working;
    },
  };
}

async function listSources(rooms: string[]): Promise<string[]> {
  const listed = await Promise.all(rooms.map((room) => readdir(room, { recursive: true, withFileTypes: true })));
  return listed.flat().flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}

async function readInputs(assemblyDirectory: string): Promise<string[]> {
  const bundles = join(assemblyDirectory, 'bundles');
  const lists = await Promise.all(
    (await readdir(bundles)).map(async (name) => JSON.parse(await readFile(join(bundles, name, 'inputs.json'), 'utf8')) as string[]),
  );
  return lists.flat();
}

/** One file per function, begun anew at each start. */
function openLogs(data: DataDirectory): (name: string, text: string) => void {
  rmSync(data.join('logs'), { recursive: true, force: true });
  mkdirSync(data.join('logs'), { recursive: true });
  const streams = new Map<string, ReturnType<typeof createWriteStream>>();
  return (name, text) => {
    const stream = streams.get(name) ?? createWriteStream(data.join('logs', `${name.replaceAll('/', '-')}.log`), { flags: 'a' });
    streams.set(name, stream);
    stream.write(`${text}\n`);
  };
}

function parseLine(text: string): Record<string, unknown> | string {
  if (!text.startsWith('{')) return text;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}
