import { once } from 'node:events';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readProcess } from '../../local/postgres/read-process.ts';
import { type StartDev, useDev } from '../support/dev-process.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

/* All starts share one data directory: each must leave it as usable as it was, and the last test uses it. */
const temporary = useTemporaryDirectory();
const local = useDev();
const patience = { timeout: 60_000 };
const good = 'examples/etl/app.ts';
let dataDirectory = '';

beforeAll(() => {
  dataDirectory = join(temporary.path, 'data');
});

/** Writes a module that is meant to be wrong, which is why it cannot lie in the repository. */
function writeApp(name: string, source: string): string {
  const file = join(temporary.path, name);
  writeFileSync(file, source);
  return file;
}

/** Starts what cannot start, and gives what it said. Whatever the reason, it must say it without a stack and leave nothing running. */
async function refusal(options: Partial<StartDev>, code = 1): Promise<string> {
  const dev = local.start({ app: good, dataDirectory, ...options });
  const ended = await dev.ended;
  expect(ended, dev.stdout + dev.stderr).toEqual({ code, signal: null });
  expect(await dev.listLeftBehind()).toEqual([]);
  expect(dev.stdout).not.toMatch(/^ready/m);
  expect(dev.stderr).not.toMatch(/node:internal|\.mjs:\d|^\s+at .*(infra|local|shared|cli|node_modules)\//m);
  for (const name of ['endpoints.json', 'processes.json', 'postgres/postmaster.pid']) {
    expect(existsSync(join(dataDirectory, name)), name).toBe(false);
  }
  return dev.stderr.trimEnd();
}

describe('called wrongly, waybill dev says so with exit code 2', patience, () => {
  test('by an unknown option', async () => {
    expect(await refusal({ options: ['--wat'] }, 2)).toMatch(/^Unknown option '--wat'.* See waybill dev --help$/);
  });

  test.each(['99999', 'http', ''])("by the port '%s'", async (port) => {
    const dev = local.start({ app: good, dataDirectory, options: [`--port=${port}`] });
    expect(await dev.ended).toEqual({ code: 2, signal: null });
    expect(dev.stderr).toBe(`--port must be a number from 0 to 65535, got '${port}'\n`);
  });

  test('by a second entry', async () => {
    expect(await refusal({ options: ['other.ts'] }, 2)).toBe(`one entry is expected, got 2: ${good}, other.ts. See waybill dev --help`);
  });

  test('by a database URL that is none, whose password stays secret', async () => {
    expect(await refusal({ options: ['--database-url', 'mysql://me:hunter2@here/db'] }, 2)).toBe(
      "--database-url must be a URL like postgres://user:password@host:5432/database, got 'mysql://me:…@here/db'",
    );
  });
});

describe('an app that cannot be run is refused with the reason', patience, () => {
  test('when there is no such file', async () => {
    expect(await refusal({ app: 'no/such/app.ts' })).toBe(
      "there is no file 'no/such/app.ts': give the path of the module whose default export is the app",
    );
  });

  test('when its module throws', async () => {
    const app = writeApp('throws.ts', `throw new Error('no TOKEN in the environment');\n`);
    const said = (await refusal({ app })).split('\n');
    expect(said[0]).toBe(`${app} could not be loaded: no TOKEN in the environment`);
    expect(said[1]).toMatch(/^ {4}at .*throws\.ts:1:7\)?$/);
    expect(said.slice(2)).toEqual(['its modules are imported at synth; open clients and read secrets inside run']);
  });

  test('when its default export is something else', async () => {
    const app = writeApp('something-else.ts', `export default { hello: 'world' };\n`);
    expect(await refusal({ app })).toBe(
      `${app} has a default export of type object: it must end in \`export default app({ name, workflows, manifests })\``,
    );
  });

  test('when it is no TypeScript', async () => {
    const app = writeApp('unfinished.ts', `import { app } from 'waybill';\nexport default app({ name: \n`);
    const said = await refusal({ app });
    expect(said).toMatch(/^the code could not be bundled:/);
    expect(said).toMatch(/unfinished\.ts:3:0/);
  });

  test('when it imports what is not there', async () => {
    const app = writeApp('lonely.ts', `import './friend.ts';\n`);
    expect(await refusal({ app })).toMatch(/Could not resolve "\.\/friend\.ts"[\s\S]*lonely\.ts:1:7/);
  });

  test('when it has mistakes, which are named together', async () => {
    const app = writeApp(
      'mistaken.ts',
      `import { app, cron, workflow } from 'waybill';
      const input = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } };
      const listed = workflow({ name: 'listed', input, run: () => 1 });
      const unlisted = workflow({ name: 'unlisted', input, run: () => 1 });
      export default app({
        name: 'mistaken',
        workflows: [listed],
        manifests: (scheduler) => scheduler
          .schedule(unlisted, 'a', {}, cron('* * * * *'))
          .schedule(listed, 'b', {}, cron('61 * * * *')),
      });\n`,
    );
    expect(await refusal({ app })).toBe(
      [
        "app 'mistaken' has 2 mistakes:",
        "  - manifest 'a': workflow 'unlisted' is not part of the app; add it to 'workflows'",
        "  - manifest 'b': cron expression '61 * * * *' is invalid: minute must be 0-59, got '61'",
      ].join('\n'),
    );
  });
});

test('an app that hangs while it is imported is ended by Ctrl-C with all that loads it', patience, async () => {
  const app = writeApp('hangs.ts', `export default await new Promise(() => setInterval(() => {}, 1000));\n`);
  const dev = local.start({ app, dataDirectory });
  const isLoading = async () => {
    const found = await Promise.all((await dev.listTree()).map(({ pid }) => readProcess(pid)));
    return found.some((one) => one?.command.includes('load-app.ts'));
  };
  await waitFor('the import of the app', isLoading, { seconds: 30, describe: () => dev.stdout + dev.stderr });
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  expect(await dev.listLeftBehind()).toEqual([]);
});

describe('a database that cannot be used is refused with the reason', patience, () => {
  /** Nothing listens there any more: the address was given out by the system and given back. */
  let freePort = 0;
  beforeAll(async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    freePort = (server.address() as AddressInfo).port;
    server.close();
    await once(server, 'close');
  });

  test.each(['127.0.0.1', 'localhost'])('when nothing answers on %s, without the password', async (host) => {
    const said = await refusal({ options: ['--database-url', `postgres://me:hunter2@${host}:${freePort}/jobs`] });
    expect(said).toMatch(
      new RegExp(
        `^the database 'jobs' on ${host}:${freePort} cannot be reached \\(.*ECONNREFUSED.*\\): start it, or correct --database-url$`,
      ),
    );
    expect(said).not.toContain('hunter2');
  });

  test('when another version of postgres wrote the data', async () => {
    const version = join(dataDirectory, 'postgres/PG_VERSION');
    renameSync(version, `${version}.kept`);
    writeFileSync(version, '12\n');
    const said = await refusal({});
    renameSync(`${version}.kept`, version);
    expect(said).toBe(
      `${join(dataDirectory, 'postgres')} was written by postgres 12, but postgres 18 is installed: choose another directory with --data-dir, or serve this one with its own version and --database-url`,
    );
  });

  test('when a part of it is missing', async () => {
    const part = join(dataDirectory, 'postgres/global');
    renameSync(part, `${part}.kept`);
    const said = await refusal({});
    renameSync(`${part}.kept`, part);
    expect(said).toMatch(
      /^postgres did not start on .*: it ended with exit code 2; choose another directory with --data-dir, or use --database-url\. /,
    );
    expect(said).toContain('pg_control');
  });

  test('when its directory is a file', async () => {
    const directory = join(dataDirectory, 'postgres');
    renameSync(directory, `${directory}-kept`);
    writeFileSync(directory, '');
    const said = await refusal({});
    rmSync(directory);
    renameSync(`${directory}-kept`, directory);
    expect(said).toMatch(/^cannot make a database in .*: .*ENOTDIR.*; choose another directory with --data-dir, or use --database-url$/);
  });
});

test('a data directory that is a file is refused', patience, async () => {
  const file = join(temporary.path, 'file');
  writeFileSync(file, '');
  const dev = local.start({ app: good, dataDirectory: file });
  expect(await dev.ended).toEqual({ code: 1, signal: null });
  expect(dev.stderr).toBe(`'${file}' cannot be used as the data directory: choose another with --data-dir\n`);
});

test('a Node.js that is too old is told which one is needed', patience, async () => {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.11.0' } })`;
  const said = await refusal({ nodeOptions: ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`] });
  expect(said).toMatch(/^waybill needs Node\.js 24 or newer, but this is v\d+\S+\. On Linux, run it through npm/);
});

test('after all of that the data directory starts', { timeout: 180_000 }, async () => {
  const dev = local.start({ app: good, dataDirectory });
  await dev.untilReady();
  expect(dev.stderr).toBe('');
  expect(await dev.interrupt()).toEqual({ code: 0, signal: null });
  expect(await dev.listLeftBehind()).toEqual([]);
});
