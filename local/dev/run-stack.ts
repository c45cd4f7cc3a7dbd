import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ownModule } from '../../infra/bundle/package-root.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import type { SyncReport } from '../../shared/define/sync.ts';
import type { RunningFunction } from '../cloud/deployment.ts';
import { type Cloud, startCloud } from '../cloud/start-cloud.ts';
import type { DataDirectory } from '../data-directory.ts';
import type { HttpApi } from '../http-api/http-api.ts';
import type { EmbeddedSqs } from '../sqs/embedded-sqs.ts';
import { readAssembly } from '../template/read-assembly.ts';
import type { DevEvents } from './dev-events.ts';
import { openLogs, parseLine } from './function-logs.ts';
import { runNode, synthesize } from './synthesize.ts';
import { watchSources } from './watch-sources.ts';

export interface RunStack {
  entry: string;
  data: DataDirectory;
  httpApi: HttpApi;
  events: DevEvents;
  aborting: AbortController;
  databaseUrl: string;
  sqs: EmbeddedSqs;
  isWatching: boolean;
}

export interface RunningStack {
  readonly databaseUrl: string;
  readonly database: Database;
  /** The one that runs now: a change in the stack replaces it. */
  readonly cloud: Cloud;
  stop(): Promise<void>;
}

/** Boots the synthesized stack, and keeps it true to its sources: a change in the app replaces the app's code, one in the stack everything. */
export async function runStack({ entry, data, httpApi, events, aborting, databaseUrl, sqs, isWatching }: RunStack): Promise<RunningStack> {
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
    const argv = [ownModule('local/dev/build-app'), entry, output, syncFunction.settings.codeDirectory];
    await runNode({ argv, failureCode: 'app_not_built', signal: aborting.signal, processes: data });
    for (const one of executors) await replaceCode(one, join(output, 'executor'));
    await replaceCode(syncFunction, join(output, 'sync'));
    // Migrate, which begins a deployment of the whole stack, is not run for a change in the app.
    const result = await syncFunction.lambda.invoke({ startsDeployment: true });
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

async function readInputs(assemblyDirectory: string): Promise<string[]> {
  const bundles = join(assemblyDirectory, 'bundles');
  const lists = await Promise.all(
    (await readdir(bundles)).map(async (name) => JSON.parse(await readFile(join(bundles, name, 'inputs.json'), 'utf8')) as string[]),
  );
  return lists.flat();
}
