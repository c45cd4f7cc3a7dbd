import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { findByType, type Resources } from './read-template.ts';
import { writeTree } from './write-tree.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const temporary = useTemporaryDirectory();

/** As the local cloud does it: the CDK app alone, without the CDK's command line. */
function synthesize(outputDirectory: string, environment: Record<string, string> = {}): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, ['infra/app.ts'], {
    cwd: root,
    encoding: 'utf8',
    // The CDK's own check of the template takes seconds; the test of the AWS Solutions rules runs it.
    env: { ...process.env, CDK_OUTDIR: outputDirectory, CDK_VALIDATION: 'false', ...environment },
    timeout: 55_000,
  });
}

describe('node infra/app.ts', () => {
  let assembly: string;
  let resources: Resources;

  beforeAll(() => {
    assembly = join(temporary.path, 'assembly');
    const { status, stderr } = synthesize(assembly, {
      WAYBILL_APP: 'examples/etl/app.ts',
      WAYBILL_DATABASE_URL_SECRET: 'laptop/database-url',
    });
    if (status !== 0) throw new Error(stderr);
    const template = JSON.parse(readFileSync(join(assembly, 'Waybill.template.json'), 'utf8'));
    resources = template.Resources;
    expect(template.Metadata.Waybill.constructs).toMatchObject([{ path: 'Waybill/Jobs', databaseUrlSecretName: 'laptop/database-url' }]);
  });

  /** The directory that a deployment would upload as the function's code. */
  const codeOf = (name: string) => join(assembly, `asset.${functionOf(name).Code.S3Key.replace('.zip', '')}`);

  const functionOf = (name: string) =>
    findByType(resources, 'AWS::Lambda::Function').find((found) => found.name === `${name}/Function`)?.properties;

  /** The function's variables; what only a deployment knows is filled in with something of the right form. */
  const environmentOf = (name: string): Record<string, string> => {
    const filledIn = Object.entries(functionOf(name).Environment.Variables).map(([variable, value]) => {
      if (typeof value === 'string') return [variable, value];
      return [variable, variable === 'WAYBILL_POOLS' ? '{}' : 'http://127.0.0.1/000000000000/queue'];
    });
    return { AWS_REGION: 'eu-central-1', ...Object.fromEntries(filledIn) };
  };

  test('gives every function the bundle of its process', () => {
    for (const name of ['Manager', 'Dispatcher', 'Activator', 'Housekeeping', 'Api', 'Migrate', 'Sync', 'Pool-default/Executor']) {
      expect(existsSync(join(codeOf(name), 'index.mjs')), name).toBe(true);
    }
    expect(existsSync(join(codeOf('Pool-default/Executor'), 'app.mjs'))).toBe(true);
  });

  test.each(['Manager', 'Dispatcher', 'Activator', 'Housekeeping', 'Api', 'Migrate', 'Sync', 'Pool-default/Executor'])(
    'the bundle of %s exports its handler under plain Node',
    (name) => {
      const script = `import(${JSON.stringify(join(codeOf(name), 'index.mjs'))}).then(({ handler }) => { console.log(typeof handler); process.exit(0); })`;
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        cwd: temporary.path,
        encoding: 'utf8',
        env: environmentOf(name),
        timeout: 20_000,
      });
      expect(stderr).toBe('');
      expect(stdout).toBe('function\n');
    },
  );

  test('ships the definitions with sync, the migrations with migrate and the page with the API', () => {
    const manifests = JSON.parse(readFileSync(join(codeOf('Sync'), 'manifests.json'), 'utf8'));
    expect(manifests.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(manifests.name).toEqual(expect.any(String));
    expect(existsSync(join(codeOf('Migrate'), 'migrations/0001-definitions.sql'))).toBe(true);
    expect(JSON.parse(readFileSync(join(codeOf('Migrate'), 'deployment.json'), 'utf8'))).toEqual({
      owner: manifests.name,
      definitionHash: manifests.hash,
    });
    expect(existsSync(join(codeOf('Api'), 'page/page.html'))).toBe(true);
  });
});

test('an app that does not exist ends synthesis with a sentence and no template', () => {
  const outputDirectory = join(temporary.path, 'missing');
  const { status, stderr } = synthesize(outputDirectory, { WAYBILL_APP: 'examples/none/app.ts' });
  expect(status).toBe(1);
  expect(stderr.trim()).toMatch(/^there is no file 'examples\/none\/app\.ts': give the path of a module/);
  expect(existsSync(join(outputDirectory, 'Waybill.template.json'))).toBe(false);
});

test('an app with mistakes ends synthesis with all of them and no template', () => {
  const app = join(writeTree(join(temporary.path, 'mistaken-app'), { 'app.ts': mistakenApp }), 'app.ts');
  const outputDirectory = join(temporary.path, 'mistaken');
  const { status, stderr } = synthesize(outputDirectory, { WAYBILL_APP: app });
  expect(status).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([
    "app 'mistaken' has 7 mistakes:",
    "  - manifest 'delta-summary' is not in batch 'delta', which owns all ids that begin with 'delta-'; rename one",
    expect.stringMatching(/^ {2}- manifest 'delta-a' and another of batch 'delta': cron expression '61 \* \* \* \*' is invalid: minute/),
    "  - manifest 'delta-b': its input is invalid: it must be an object",
    expect.stringMatching(/^ {2}- manifest 'below': option 'misfire' is not for a dependent; allowed are group/),
    "  - manifest 'below': its parent 'delta-c' does not exist: batch 'delta' has no such item; did you mean 'delta-a'?",
    '  - circular dependency detected among manifests: two → one → two',
    '  - Circular dependency detected among manifest groups: [x, y]',
  ]);
  expect(existsSync(join(outputDirectory, 'Waybill.template.json'))).toBe(false);
});

const mistakenApp = `
import { app, cron, every, workflow } from 'waybill';

const validate = (value) => (typeof value === 'object' ? { value } : { issues: [{ message: 'it must be an object' }] });
const work = workflow({ name: 'work', input: { '~standard': { version: 1, vendor: 'test', validate } }, run: () => null });

export default app({
  name: 'mistaken',
  workflows: [work],
  manifests(scheduler) {
    scheduler.scheduleMany(work, 'delta', [{ id: 'a', input: {} }, { id: 'b', input: 7 }], cron('61 * * * *'));
    scheduler.include(work, 'below', {}, { dependsOn: 'delta-c', misfire: 'skip' });
    scheduler.schedule(work, 'delta-summary', {}, every.hours(1), { group: 'x' });
    scheduler.thenInclude(work, 'in-y', {}, { group: 'y' }).thenInclude(work, 'in-x', {}, { group: 'x' });
    scheduler.include(work, 'one', {}, { dependsOn: 'two' }).include(work, 'two', {}, { dependsOn: 'one' });
  },
});
`;
