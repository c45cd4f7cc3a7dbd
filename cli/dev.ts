import { relative, resolve } from 'node:path';
import { type Dev, startDev } from '../local/dev/start-dev.ts';
import type { SyncReport } from '../shared/define/sync.ts';
import { WaybillError } from '../shared/errors.ts';
import { listNextDue } from '../shared/operations/list-next-due.ts';
import { describeRun, isRunEnd } from './describe-run.ts';
import { paint } from './paint.ts';

const help = `waybill dev [entry]: run an app on this machine, on the stack that cdk deploy would deploy

  entry                 the module whose default export is the app (default: app.ts)
  --port <number>       where the API and the dashboard answer (default: 4000; 0 takes a free one)
  --data-dir <path>     where the database, the queues and the logs are kept (default: .waybill)
  --database-url <url>  use this Postgres instead of the embedded one
  --no-watch            do not rebuild when files change

No Docker, no AWS account and no credentials are needed. Ctrl-C stops everything; what was queued goes on at the next start.
`;

async function run(values: Record<string, string | boolean | undefined>, [entry = 'app.ts', ...rest]: string[]): Promise<void> {
  if (rest.length)
    throw new WaybillError(
      'usage',
      `one entry is expected, got ${rest.length + 1}: ${[entry, ...rest].join(', ')}. See waybill dev --help`,
    );
  const dataDirectory = String(values['data-dir'] ?? '.waybill');
  const databaseUrl = values['database-url'] === undefined ? undefined : readDatabaseUrl(String(values['database-url']));
  const port = readPort(String(values.port ?? '4000'));
  const startedAt = performance.now();
  const stopped = whenAskedToStop();
  console.log(`${paint.bold('waybill dev')} ${entry}`);
  const options = { entry, port, dataDirectory, databaseUrl, isWatching: !values['no-watch'], signal: stopped.signal };
  const starting = startDev(options, events(stopped.ask));
  const dev = await Promise.race([starting, stopped.asked.then(() => undefined)]);
  if (dev) {
    await printSummary(dev, dataDirectory, (performance.now() - startedAt) / 1000);
    await stopped.asked;
  }
  // Asked to stop while still starting: the start is given up, and what came up in the meantime is taken down.
  const running = dev ?? (await starting.catch(() => undefined));
  process.stdout.write('\nstopping… ');
  await running?.stop();
  console.log('stopped');
  if (stopped.reason) throw new WaybillError('stopped', stopped.reason);
}

/** Ctrl-C and SIGTERM ask once; a second time ends the process at once, as people expect. */
function whenAskedToStop() {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const aborting = new AbortController();
  const stopped = {
    asked,
    signal: aborting.signal,
    reason: undefined as string | undefined,
    ask(reason?: string) {
      stopped.reason ??= reason;
      resolve();
      aborting.abort();
    },
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    let count = 0;
    process.on(signal, () => (++count > 1 ? process.exit(130) : stopped.ask()));
  }
  return stopped;
}

function events(stop: (reason: string) => void): Parameters<typeof startDev>[1] {
  return {
    onProgress: (line) => console.log(paint.dim(line)),
    onLog(functionName, line, stream) {
      if (isRunEnd(line)) console.log(describeRun(line));
      else if (typeof line !== 'string' && line.level === 'error')
        console.error(paint.red(`${functionName}: ${line.message} ${JSON.stringify(line.error ?? {})}`));
      else if (typeof line === 'string' && stream === 'stderr' && line.trim()) console.error(paint.red(`${functionName}: ${line}`));
    },
    onRefused({ functionName, action, resource, reason }) {
      const why =
        reason === 'not_emulated'
          ? 'it is not emulated here'
          : reason === 'explicit'
            ? 'a policy denies it'
            : 'no policy of its role allows it';
      console.error(
        paint.alarm(` AccessDenied `),
        paint.red(`${functionName} may not ${action} on ${resource}: ${why}. Grant it in the stack`),
      );
    },
    onProblem: ({ source, message }) => console.error(paint.red(`${source}: ${message}`)),
    onSynced: (report) => {
      for (const line of describeSync(report)) console.log(line);
    },
    onDatabaseLost: stop,
  };
}

function describeSync({ created, changed, pruned, unchangedCount }: SyncReport): string[] {
  const list = (sign: string, ids: string[]) => ids.slice(0, 20).map((id) => `  ${sign} ${id}`);
  const counts = [`${created.length} created`, `${changed.length} changed`, `${unchangedCount} unchanged`, `${pruned.length} pruned`].join(
    ', ',
  );
  const shown = [...list(paint.green('+'), created), ...list(paint.yellow('~'), changed), ...list(paint.red('-'), pruned)];
  const hidden = created.length + changed.length + pruned.length - shown.length;
  return [
    `manifests  ${created.length + changed.length + unchangedCount} (${counts})`,
    ...shown,
    ...(hidden > 0 ? [`  … and ${hidden} more`] : []),
  ];
}

async function printSummary({ cloud, apiUrl, databaseUrl, database }: Dev, dataDirectory: string, seconds: number): Promise<void> {
  const { host } = new URL(databaseUrl);
  console.log(`database   ${host}, data in ${relative(process.cwd(), resolve(dataDirectory)) || '.'}`);
  console.log(`functions  ${cloud.functions.map(({ displayName }) => displayName).join(', ')}`);
  for (const { name, type } of cloud.notRun) console.log(paint.yellow(`not run    ${name} (${type}): nothing here can run it`));
  for (const sentence of cloud.unchecked) console.log(paint.yellow(`not checked ${sentence}`));
  if (cloud.leftOut.length) {
    console.log(
      paint.dim(
        `left out   ${cloud.leftOut.map(({ type, count }) => `${count} × ${type.replace('AWS::', '')}`).join(', ')} (see docs/local-cloud.md)`,
      ),
    );
  }
  const next = await listNextDue(database, 3);
  if (next.length)
    console.log(`next due   ${next.map(({ externalId, dueInSeconds }) => `${externalId} in ${countdown(dueInSeconds)}`).join(', ')}`);
  console.log(paint.dim(`started in ${seconds.toFixed(1)} s; Ctrl-C stops everything`));
  console.log(`ready ${apiUrl}`);
}

function countdown(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3_600)} h`;
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new WaybillError('usage', `--port must be a number from 0 to 65535, got '${text}'`);
}

function readDatabaseUrl(text: string): string {
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new WaybillError(
    'usage',
    `--database-url must be a URL like postgres://user:password@host:5432/database, got '${text.replace(/:[^:@/]*@/, ':…@')}'`,
  );
}

/** Runs an app on this machine. */
export const dev = {
  summary: 'run an app on this machine, on the stack that would be deployed',
  help,
  options: {
    port: { type: 'string' as const },
    'data-dir': { type: 'string' as const },
    'database-url': { type: 'string' as const },
    'no-watch': { type: 'boolean' as const },
  },
  run,
};
