import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { FileSystem } from 'aws-cdk-lib';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Bundle, bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { measureBundle, reportSizes } from '../../infra/bundle/report-sizes.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { writeTree } from './write-tree.ts';

const temporary = useTemporaryDirectory();

const sources = {
  'functions/greeter/handler.ts': `
import legacy from 'legacy';
import { fail } from '../../shared/fail.ts';
export class GreetingError extends Error {}
export const handler = async (event: { fails?: boolean }) => {
  if (event.fails) fail();
  const { greet } = await import('./greet.ts');
  return { greeting: greet('world'), legacy: legacy(), className: GreetingError.name };
};
`,
  'functions/greeter/greet.ts': `import { big } from './big.ts';\nexport const greet = (name: string): string => 'hello ' + name + big.length;\n`,
  'functions/greeter/big.ts': `export const big = '${'x'.repeat(5000)}';\n`,
  'shared/fail.ts': `interface Reason {\n  text: string;\n}\n\nexport function fail(reason: Reason = { text: 'on purpose' }): never {\n  throw new Error(reason.text);\n}\n`,
  'node_modules/legacy/package.json': `{ "name": "legacy", "main": "index.js" }`,
  'node_modules/legacy/index.js': `const path = require('path'); module.exports = function () { return [path.basename('a/b'), typeof __dirname, require('node:os').EOL]; };\n`,
};

function build(clone: string, outputDirectory: string, files: Record<string, string> = sources): Bundle {
  const sourceRoot = writeTree(join(temporary.path, clone), files);
  return bundleFunction({ name: 'greeter', entry: join(sourceRoot, 'functions/greeter/handler.ts'), outputDirectory, sourceRoot });
}

let bundle: Bundle;
beforeAll(() => {
  bundle = build('one', join(temporary.path, 'out-one'));
});

/** In a process without this project: no module resolution, no loader, only what is in the bundle. */
function invoke(directory: string, event: object): string {
  const script = `import(${JSON.stringify(pathToFileURL(join(directory, 'index.mjs')).href)}).then(({ handler }) => handler(${JSON.stringify(event)}))
    .then((answer) => console.log(JSON.stringify(answer)), (error) => console.log(error.stack));`;
  return execFileSync(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', script], { cwd: '/', encoding: 'utf8' });
}

describe('a bundled function', () => {
  test('runs under plain Node, with lazily imported chunks, CommonJS dependencies and the names of its classes', () => {
    expect(JSON.parse(invoke(bundle.directory, {}))).toEqual({
      greeting: 'hello world5000',
      legacy: ['b', 'string', '\n'],
      className: 'GreetingError',
    });
  });

  test('names the original file and line in a stack trace, as if the sources lay beside it', () => {
    expect(invoke(bundle.directory, { fails: true })).toContain(`${bundle.directory}/shared/fail.ts:6:9`);
  });

  test('has the same asset hash when built in another clone at another depth into another directory', () => {
    const other = build('elsewhere/deep/down/two', join(temporary.path, 'elsewhere/out/bundles/two'));
    expect(FileSystem.fingerprint(other.directory)).toBe(FileSystem.fingerprint(bundle.directory));
  });

  test('has another asset hash when a lazily imported source changes', () => {
    const changed = build('changed', join(temporary.path, 'out-changed'), {
      ...sources,
      'functions/greeter/big.ts': `export const big = 'small';\n`,
    });
    expect(FileSystem.fingerprint(changed.directory)).not.toBe(FileSystem.fingerprint(bundle.directory));
  });

  test('says nothing of the machine that built it', () => {
    for (const file of readdirSync(bundle.directory))
      expect(readFileSync(join(bundle.directory, file), 'utf8'), file).not.toContain(temporary.path);
  });

  test('keeps nothing of an earlier build in its directory', () => {
    const outputDirectory = join(temporary.path, 'out-again');
    writeTree(outputDirectory, { 'chunk-STALE.mjs': '' });
    build('one', outputDirectory);
    expect(readdirSync(outputDirectory)).toEqual(readdirSync(bundle.directory));
  });

  test('is measured in all and as far as it is read at start', () => {
    const size = measureBundle(bundle);
    expect(size.totalBytes - size.initialBytes).toBeGreaterThan(5000);
    expect(reportSizes([bundle])).toMatch(/^function .*\ngreeter +[\d.]+ KiB +[\d.]+ KiB +\d+$/);
  });
});

test('an entry that does not exist is named by its path', () => {
  expect(() =>
    bundleFunction({ name: 'lost', entry: join(temporary.path, 'lost.ts'), outputDirectory: join(temporary.path, 'out-lost') }),
  ).toThrow(`there is no file '${join(temporary.path, 'lost.ts')}'`);
});

test('code that does not compile is reported with file, line and reason', () => {
  const broken = { 'functions/greeter/handler.ts': `\nimport { nothing } from './missing.ts';\nexport const handler = nothing;\n` };
  expect(() => build('broken', join(temporary.path, 'out-broken'), broken)).toThrow(
    /could not be bundled:.*"\.\/missing\.ts".*functions\/greeter\/handler\.ts:2:24/s,
  );
});
