import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BundleError } from '../../infra/bundle/bundle-error.ts';
import { bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { evaluateApp } from '../../infra/bundle/evaluate-app.ts';
import { writeManifests } from '../../infra/bundle/write-manifests.ts';
import type { AppDefinition } from '../../shared/index.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { writeTree } from './write-tree.ts';

const temporary = useTemporaryDirectory();

/** What is tested is how a module is loaded, so any object with a definition is an app. */
const anApp = `export default { toDefinition: async () => ({ name: 'etl', manifests: [{ externalId: 'extract-data' }] }) };`;

function evaluate(name: string, source: string, timeoutSeconds?: number): unknown {
  const sourceRoot = writeTree(join(temporary.path, name), {
    'src/app.ts': source,
    'src/handler.ts': 'export const handler = async () => {};\n',
  });
  const entry = join(sourceRoot, 'src/app.ts');
  const outputDirectory = join(sourceRoot, 'out');
  bundleFunction({ name, entry: join(sourceRoot, 'src/handler.ts'), entries: { app: entry }, outputDirectory, sourceRoot });
  return evaluateApp({ bundleDirectory: outputDirectory, entry, ...(timeoutSeconds ? { timeoutSeconds } : {}) });
}

function mistakeIn(name: string, source: string, timeoutSeconds?: number): BundleError {
  try {
    evaluate(name, source, timeoutSeconds);
  } catch (error) {
    if (error instanceof BundleError) return error;
    throw error;
  }
  throw new Error('the app was accepted');
}

describe('evaluating an app', () => {
  test('returns its definition, whatever it prints and whatever it leaves open', () => {
    const source = `console.log('{"name":"printed"}');\nsetInterval(() => {}, 1000);\n${anApp}`;
    expect(evaluate('good', source)).toEqual({ name: 'etl', manifests: [{ externalId: 'extract-data' }] });
  });

  test('names the file, the message and the line of a module that throws while it is imported', () => {
    const source = `interface Settings {\n  url?: string;\n}\nconst settings: Settings = {};\nif (!settings.url) throw new Error('URL is not set');\n${anApp}`;
    const { code, message } = mistakeIn('throws', source);
    expect(code).toBe('app_not_loadable');
    expect(message).toContain('throws/src/app.ts could not be loaded: URL is not set');
    expect(message).toContain('(src/app.ts:5:26)');
    expect(message).toContain('inside run');
    expect(message).not.toContain('load-app.ts');
  });

  test('reports a thrown value that is no error', () => {
    expect(mistakeIn('throws-text', `throw 'no luck';\n${anApp}`).message).toContain('could not be loaded: no luck');
  });

  test('passes the mistakes of a definition through unchanged', () => {
    const text = "the app has 2 mistakes:\n- manifest 'a' is declared twice\n- cron '61 * * * *' is invalid";
    const source = `export default { async toDefinition() { throw Object.assign(new Error(${JSON.stringify(text)}), { code: 'invalid_app' }); } };`;
    expect(mistakeIn('invalid', source)).toMatchObject({ code: 'invalid_app', message: text });
  });

  test.each([
    ['nothing', 'export const jobs = 1;', 'has no default export'],
    ['an-object', 'export default { name: "etl" };', 'has a default export of type object'],
    ['null', 'export default null;', 'has null'],
  ])('says what to export when the default export is %s', (name, source, received) => {
    const { code, message } = mistakeIn(`not-an-app-${name}`, source);
    expect(code).toBe('not_an_app');
    expect(message).toContain(`src/app.ts ${received}: it must end in \`export default app({`);
  });

  test('reports an app that ends the process, with what it printed', () => {
    const { code, message } = mistakeIn('exits', `console.error('giving up');\nprocess.exit(7);\n${anApp}`);
    expect(code).toBe('app_not_loadable');
    expect(message).toMatch(/ended with exit code 7 before the app was read\ngiving up$/);
  });

  test('gives up on an app that never finishes loading', () => {
    const { code, message } = mistakeIn('hangs', `await new Promise((resolve) => setTimeout(resolve, 600_000));\n${anApp}`, 1);
    expect(code).toBe('app_timeout');
    expect(message).toContain('did not finish loading within 1 s');
  });

  test('reports a definition that is not JSON', () => {
    expect(mistakeIn('bigint', 'export default { toDefinition: async () => ({ input: 1n }) };').message).toContain('BigInt');
  });
});

describe('manifests.json', () => {
  const write = (name: string, definition: AppDefinition) => {
    const directory = writeTree(join(temporary.path, name), { 'index.mjs': '' });
    const manifests = writeManifests(definition, directory);
    return { manifests, text: readFileSync(join(directory, 'manifests.json'), 'utf8') };
  };
  const schedule = { type: 'interval', intervalSeconds: 60, anchor: 'occurrence' } as const;
  const extractWith = (input: unknown) => ({ externalId: 'extract-data', workflow: 'extract', group: 'etl', schedule, input });
  const definition = { name: 'etl', workflows: [], groups: [], manifests: [extractWith({ a: 1, b: [2, 3] })] };

  test('holds the definition and its hash', () => {
    const { manifests, text } = write('manifests', definition);
    expect(JSON.parse(text)).toEqual({ ...definition, hash: manifests.hash });
    expect(manifests.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is the same for the same definition in another order of keys, and another for another definition', () => {
    const one = write('order-one', definition);
    const two = write('order-two', { manifests: [extractWith({ b: [2, 3], a: 1 })], groups: [], workflows: [], name: 'etl' });
    const three = write('order-three', { ...definition, manifests: [extractWith({ a: 1, b: [3, 2] })] });
    expect(two.text).toBe(one.text);
    expect(three.manifests.hash).not.toBe(one.manifests.hash);
  });
});
