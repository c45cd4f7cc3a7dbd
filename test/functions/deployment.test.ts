import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { writeDeployment, writeManifests } from '../../infra/bundle/write-manifests.ts';
import type { SyncReport } from '../../shared/define/sync.ts';
import { type Declared, define } from '../define/use-sync.ts';
import { useDatabase } from '../support/database.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { useAws } from './use-aws.ts';

/* The bundles of migrate and sync as a deployment uploads them, each deployment with its own definitions beside the same code. */
const database = useDatabase();
const temporary = useTemporaryDirectory();
const aws = useAws();
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
  aws.secret = { status: 200, body: { SecretString: database.url } };
  vi.stubEnv('WAYBILL_WAKE_QUEUE_URL', 'https://sqs.eu-west-1.amazonaws.com/123456789012/wake');
  first = await upload('first', { externalId: 'job', priority: 1 });
  second = await upload('second', { externalId: 'job', priority: 2 });
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
