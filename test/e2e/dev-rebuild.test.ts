import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { readProcess } from '../../local/postgres/read-process.ts';
import { listExecutions } from '../support/ask-api.ts';
import { type DevProcess, useDev } from '../support/dev-process.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/* One app that is changed from test to test while it runs. It lies outside the repository, where an app of a user would. */
const temporary = useTemporaryDirectory();
const local = useDev();
const patience = { timeout: 90_000 };
let dev: DevProcess;
let apiUrl = '';

interface AppSource {
  version: number;
  manifests: string[];
}

function writeApp({ version, manifests }: AppSource): void {
  writeFileSync(join(temporary.path, 'version.ts'), `export const version = ${version};\n`);
  writeFileSync(
    join(temporary.path, 'app.ts'),
    `import { app, every, workflow } from 'waybill';
    import { version } from './version.ts';
    const input = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } };
    const tell = workflow({ name: 'tell', input, run: () => ({ version }) });
    export default app({
      name: 'changing',
      workflows: [tell],
      manifests(scheduler) {
        ${manifests.join('\n        ')}
      },
    });\n`,
  );
}

const tick = `scheduler.schedule(tell, 'tick', { asked: 'once' }, every.seconds(1));`;
const hourly = (id: string) => `scheduler.schedule(tell, '${id}', {}, every.hours(1));`;

/** What was printed since a mark, so that a test sees only what its own change brought about. */
function sinceNow(): { stdout(): string; stderr(): string } {
  const { length } = dev.stdout;
  const { length: errorLength } = dev.stderr;
  return { stdout: () => dev.stdout.slice(length), stderr: () => dev.stderr.slice(errorLength) };
}

const awaitRun = (version: number, newerThan = 0) =>
  waitFor(
    `a run of version ${version}`,
    async () => {
      const [latest] = await listExecutions(apiUrl, 'manifest=tick&state=completed');
      const isWanted = (latest?.output as { version: number } | undefined)?.version === version && Number(latest?.id) > newerThan;
      return isWanted && Number(latest?.id);
    },
    { seconds: 40, describe: () => dev.stdout + dev.stderr },
  );

const awaitPrinted = (wanted: RegExp | string, printed: () => string) =>
  waitFor(`${wanted}`, () => (typeof wanted === 'string' ? printed().includes(wanted) : wanted.test(printed())), {
    seconds: 40,
    describe: () => dev.stdout + dev.stderr,
  });

beforeAll(async () => {
  writeApp({ version: 1, manifests: [tick, hourly('kept'), hourly('given-up')] });
  dev = local.start({ app: join(temporary.path, 'app.ts'), dataDirectory: join(temporary.path, 'data'), isWatching: true });
  apiUrl = await dev.untilReady();
  await awaitRun(1);
}, 180_000);

test('a changed app is rebuilt and applied without a restart, and the difference is printed', patience, async () => {
  const printed = sinceNow();
  writeApp({ version: 2, manifests: [tick.replace('once', 'twice'), hourly('kept'), hourly('added')] });
  await awaitPrinted(
    ['manifests  3 (1 created, 1 changed, 1 unchanged, 1 pruned)', '  + added', '  ~ tick', '  - given-up\n'].join('\n'),
    printed.stdout,
  );
  await awaitPrinted(/^app rebuilt in \d+\.\d s$/m, printed.stdout);
  await awaitRun(2);
  await waitFor(
    'a run with the changed input',
    async () => isDeepStrictEqual((await listExecutions(apiUrl, 'manifest=tick&state=completed'))[0]?.input, { asked: 'twice' }),
    { seconds: 20, describe: () => dev.stdout + dev.stderr },
  );
  expect(dev.stdout.match(/^ready/gm)).toHaveLength(1);
  expect(dev.stderr).toBe('');
});

test('a change in a module that the app imports is a change of the app', patience, async () => {
  const printed = sinceNow();
  writeFileSync(join(temporary.path, 'version.ts'), 'export const version = 3;\n');
  await awaitRun(3);
  await awaitPrinted('manifests  3 (0 created, 0 changed, 3 unchanged, 0 pruned)', printed.stdout);
});

test('a change that cannot be built is reported and leaves the old code running, until it is mended', patience, async () => {
  const printed = sinceNow();
  writeFileSync(join(temporary.path, 'version.ts'), 'export const version = ;\n');
  await awaitPrinted(/rebuild: the code could not be bundled:[\s\S]*version\.ts:1:23/, printed.stderr);
  const [latest] = await listExecutions(apiUrl, 'manifest=tick');
  await awaitRun(3, Number(latest?.id));
  expect(printed.stdout()).not.toContain('app rebuilt');

  writeFileSync(join(temporary.path, 'version.ts'), 'export const version = 4;\n');
  await awaitRun(4);
});

test('a change that makes a mistake is reported and changes nothing, until it is mended', patience, async () => {
  const printed = sinceNow();
  writeApp({ version: 5, manifests: [tick, tick, hourly('kept'), hourly('added')] });
  await awaitPrinted(/rebuild: app 'changing' has a mistake:\n {2}- manifest 'tick' is declared twice; ids must be unique/, printed.stderr);
  const [latest] = await listExecutions(apiUrl, 'manifest=tick');
  await awaitRun(4, Number(latest?.id));

  writeApp({ version: 6, manifests: [tick, hourly('kept')] });
  await awaitRun(6);
  await awaitPrinted('manifests  2 (0 created, 1 changed, 1 unchanged, 1 pruned)\n  ~ tick\n  - added\n', printed.stdout);
});

test('a module that was missing mends the app when it appears', patience, async () => {
  const printed = sinceNow();
  writeFileSync(join(temporary.path, 'version.ts'), `export { version } from './number.ts';\n`);
  await awaitPrinted(/rebuild: the code could not be bundled:[\s\S]*Could not resolve "\.\/number\.ts"/, printed.stderr);
  writeFileSync(join(temporary.path, 'number.ts'), 'export const version = 7;\n');
  await awaitRun(7);
});

test('Ctrl-C during a rebuild is no problem, and ends every process', patience, async () => {
  const printed = sinceNow();
  writeApp({ version: 8, manifests: [tick] });
  const isBuilding = async () => {
    const commands = await Promise.all((await dev.listTree()).map(({ pid }) => readProcess(pid)));
    return commands.some((found) => found?.command.includes('build-app.ts'));
  };
  await waitFor('the rebuild', isBuilding, { seconds: 20, describe: () => dev.stdout + dev.stderr });
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  expect(printed.stderr()).toBe('');
  expect(await dev.listLeftBehind()).toEqual([]);
});
