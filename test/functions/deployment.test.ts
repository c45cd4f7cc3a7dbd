import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { writeDeployment, writeManifests } from '../../infra/bundle/write-manifests.ts';
import type { SyncReport } from '../../shared/define/sync.ts';
import { type Declared, define } from '../define/use-sync.ts';
import { useDatabase } from '../support/database.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';

/* The bundles of migrate and sync as a deployment uploads them, each deployment with its own definitions beside the same code. */
const database = useDatabase();
const temporary = useTemporaryDirectory();
let aws: Server;
let first: Deployment;
let second: Deployment;

beforeAll(async () => {
  const bundle = (name: string, directories = {}) =>
    bundleFunction({
      name,
      entry: join(packageRoot, 'functions', name, 'handler.ts'),
      outputDirectory: join(temporary.path, 'code', name),
      directories,
    });
  bundle('migrate', { migrations: join(packageRoot, 'shared/db/migrations') });
  bundle('sync');
  aws = createServer(async (request, response) => {
    const { MessageBody = '' } = JSON.parse(await text(request));
    const MD5OfMessageBody = createHash('md5').update(MessageBody).digest('hex');
    const isSecret = String(request.headers['x-amz-target']).includes('GetSecretValue');
    response.end(JSON.stringify(isSecret ? { SecretString: database.url } : { MessageId: 'm', MD5OfMessageBody }));
  });
  await new Promise<void>((resolve) => aws.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${(aws.address() as AddressInfo).port}`);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  vi.stubEnv('WAYBILL_DATABASE_SECRET_ID', 'waybill/database-url');
  vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/wake');
  first = await upload('first', { externalId: 'job', priority: 1 });
  second = await upload('second', { externalId: 'job', priority: 2 });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await new Promise((resolve) => aws.close(resolve));
});
beforeEach(() => database.pool.query('truncate waybill.manifest, waybill.manifest_group, waybill.workflow, waybill.deployment cascade'));

interface Deployment {
  migrate(): Promise<{ deploymentVersion: number }>;
  sync(event?: object): Promise<SyncReport>;
}

/** What one deployment uploads; its functions log to nobody. */
async function upload(name: string, ...manifests: Declared[]): Promise<Deployment> {
  const directory = join(temporary.path, name);
  cpSync(join(temporary.path, 'code'), directory, { recursive: true });
  writeDeployment(writeManifests(define(manifests), join(directory, 'sync')), join(directory, 'migrate'));
  const load = async (functionName: string) => {
    const { handler } = (await import(join(directory, functionName, 'index.mjs'))) as {
      handler(event: object, context: object): Promise<never>;
    };
    return async (event = {}) => {
      const silence = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
      return handler(event, {}).finally(() => silence.mockRestore());
    };
  };
  return { migrate: await load('migrate'), sync: await load('sync') };
}

it('migrate begins a deployment that sync then applies', async () => {
  const { deploymentVersion } = await first.migrate();
  expect(await first.sync()).toMatchObject({ outcome: 'applied', deploymentVersion, created: ['job'] });
  expect(await first.sync()).toMatchObject({ outcome: 'applied', deploymentVersion, unchangedCount: 1 });
});

it('of two deployments that overlap, the one whose migrate ran later wins, also if its sync comes first', async () => {
  await first.migrate();
  await second.migrate();
  expect(await second.sync()).toMatchObject({ outcome: 'applied' });
  expect(await first.sync()).toMatchObject({ outcome: 'superseded', changed: [] });
});

it('a rollback runs migrate with the definitions of before, and keeps the late sync of what it rolled back out', async () => {
  await first.migrate();
  await first.sync();
  await second.migrate();
  await first.migrate();
  expect(await first.sync()).toMatchObject({ outcome: 'applied', unchangedCount: 1 });
  expect(await second.sync()).toMatchObject({ outcome: 'superseded' });
  expect((await database.pool.query('select priority from waybill.manifest')).rows).toEqual([{ priority: 1 }]);
});

it('definitions that are replaced without migrate begin a deployment of their own when that is said', async () => {
  await first.migrate();
  await first.sync();
  expect(await second.sync({ startsDeployment: true })).toMatchObject({ outcome: 'applied', changed: ['job'] });
  expect(await first.sync()).toMatchObject({ outcome: 'superseded' });
  expect(await first.sync({ startsDeployment: true })).toMatchObject({ outcome: 'applied', changed: ['job'] });
});

it('asked for a dry run, sync says what it would do and does nothing', async () => {
  await first.migrate();
  await first.sync();
  const { rows: before } = await database.pool.query('select m.*, m.xmin from waybill.manifest m');
  expect(await second.sync({ dryRun: true })).toMatchObject({ outcome: 'planned', created: [], changed: ['job'], pruned: [] });
  expect((await database.pool.query('select m.*, m.xmin from waybill.manifest m')).rows).toEqual(before);
});
