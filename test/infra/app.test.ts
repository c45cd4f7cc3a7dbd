import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { findByType, type Resources } from './read-template.ts';

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
    for (const name of ['Manager', 'Dispatcher', 'Housekeeping', 'Api', 'Migrate', 'Sync', 'Pool-default/Executor']) {
      expect(existsSync(join(codeOf(name), 'index.mjs')), name).toBe(true);
    }
    expect(existsSync(join(codeOf('Pool-default/Executor'), 'app.mjs'))).toBe(true);
  });

  test.each(['Manager', 'Dispatcher', 'Housekeeping', 'Api', 'Migrate', 'Sync', 'Pool-default/Executor'])(
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
