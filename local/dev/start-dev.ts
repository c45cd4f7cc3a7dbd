import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Database } from '../../shared/db/database.ts';
import { WaybillError } from '../../shared/errors.ts';
import type { Cloud } from '../cloud/start-cloud.ts';
import { type DataDirectory, openDataDirectory } from '../data-directory.ts';
import { startHttpApi } from '../http-api/http-api.ts';
import { startEmbeddedPostgres } from '../postgres/start-embedded-postgres.ts';
import { startEmbeddedSqs } from '../sqs/embedded-sqs.ts';
import type { DevEvents } from './dev-events.ts';
import { reachDatabase } from './reach-database.ts';
import { runStack } from './run-stack.ts';
import { synthesize } from './synthesize.ts';

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
    return {
      apiUrl: httpApi.url,
      databaseUrl: dev.databaseUrl,
      database: dev.database,
      get cloud() {
        return dev.cloud;
      },
      stop,
    };
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
