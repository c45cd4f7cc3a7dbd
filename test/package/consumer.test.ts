import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { ownFunctionNames } from '../../infra/bundle/bundle-own-function.ts';
import { findByType } from '../infra/read-template.ts';
import { listExecutions } from '../support/ask-api.ts';
import { useDev } from '../support/dev-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { cdk, useConsumers } from './use-consumers.ts';

/* Each test starts compilers, the CDK or a whole local cloud: seconds on a free machine, many on a busy one. */
vi.setConfig({ testTimeout: 180_000 });

const consumers = useConsumers();
const dev = useDev();

describe('a project that cdk init made', () => {
  const project = () => consumers.cdkInit;

  test('compiles, with the types of the package', async () => {
    expect(JSON.parse(readFileSync(join(project(), 'package.json'), 'utf8')).type).toBeUndefined();
    await consumers.run(project(), 'npx', ['tsc']);
  });

  test('tests its app in the test kit', async () => {
    expect(await consumers.run(project(), 'npx', ['tsx', '--test', 'jobs/app.test.ts'])).toMatch(/pass 1\n/);
  });

  describe('synthesized with cdk synth', () => {
    const assembly = () => join(project(), 'cdk.out');
    /** The directory that a deployment would upload as the function's code. */
    const codeOf = (name: string) => {
      const { Resources } = JSON.parse(readFileSync(join(assembly(), 'ShopStack.template.json'), 'utf8'));
      const { properties } = findByType(Resources, 'AWS::Lambda::Function').find((found) => found.name === `${name}/Function`)!;
      return join(assembly(), `asset.${properties.Code.S3Key.replace('.zip', '')}`);
    };

    test('is the stack, by the command of its cdk.json', async () => {
      await consumers.run(project(), cdk, ['synth', '--quiet']);
      expect(existsSync(join(assembly(), 'ShopStack.template.json'))).toBe(true);
    });

    test('deploys our own functions as they were packed', () => {
      for (const name of ownFunctionNames) {
        const packed = join(consumers.installed, 'bundles', name);
        const deployed = codeOf(name[0]!.toUpperCase() + name.slice(1));
        const added = readdirSync(deployed, { recursive: true }).filter((file) => !existsSync(join(packed, String(file))));
        expect(added, name).toEqual({ sync: ['manifests.json'], migrate: ['deployment.json'] }[name as string] ?? []);
        expect(readFileSync(join(deployed, 'index.mjs'), 'utf8')).toBe(readFileSync(join(packed, 'index.mjs'), 'utf8'));
      }
    });

    test('bundles the executor with the app, whose CommonJS dependency requires what it needs', async () => {
      const module = pathToFileURL(join(codeOf('Pool-default/Executor'), 'app.mjs')).href;
      const script = `const { default: app } = await import('${module}'); console.log(app.workflows.get('report').run({}, { region: 'north' }));`;
      // In a directory without packages: what is not in the bundle is not there.
      const said = await consumers.run('/', 'node', ['--input-type=module', '-e', script]);
      expect(said).toBe("{ signed: 'north string true' }\n");
    });
  });
});

describe('a project of ES modules', () => {
  const project = () => consumers.modules;

  test('compiles, and so do the declarations of the package', async () => {
    await consumers.run(project(), 'npx', ['tsc']);
  });

  test('tests its app in the test kit', async () => {
    expect(await consumers.run(project(), 'node', ['--test', 'jobs/app.test.ts'])).toMatch(/pass 1\n/);
  });

  test('is synthesized by node alone', async () => {
    await consumers.run(project(), 'node', ['bin/shop.ts'], { CDK_OUTDIR: 'out', CDK_VALIDATION: 'false' });
    expect(existsSync(join(project(), 'out/ShopStack.template.json'))).toBe(true);
  });

  test('runs its app with waybill dev', async () => {
    const command = join(project(), 'node_modules/.bin/waybill');
    expect(realpathSync(command)).toBe(join(consumers.installed, 'cli/waybill.mjs'));
    const shop = dev.start({ command, directory: project(), app: 'jobs/app.ts', dataDirectory: join(project(), '.waybill') });
    const apiUrl = await shop.untilReady();
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' };
    expect((await fetch(new URL('/v1/manifests/daily-report/trigger', apiUrl), asked)).ok).toBe(true);
    const ended = await waitFor(
      'the end of the last run',
      async () => (await listExecutions(apiUrl, 'manifest=world-report&state=completed'))[0],
      {
        seconds: 60,
        describe: () => shop.stdout + shop.stderr,
      },
    );
    expect(ended.output).toEqual({ signed: 'world string true' });
    expect(await shop.interrupt()).toEqual({ code: 0, signal: null });
    expect(await shop.listLeftBehind()).toEqual([]);
  });
});
