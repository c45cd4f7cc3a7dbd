import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { usePackage } from './use-package.ts';

const built = usePackage();
const clone = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
const read = (path: string) => readFileSync(join(built.current.directory, path), 'utf8');
const description = () => JSON.parse(read('package.json'));
const isModule = (path: string) => path.endsWith('.js') && !path.startsWith('bundles/');

test('the package holds compiled modules, bundles of our own functions and what both read, and nothing else', () => {
  const kindsByFolder = Map.groupBy(built.current.files, ({ path }) => folderOf(path));
  const listed = [...kindsByFolder].map(([folder, files]) => [
    folder,
    [...new Set(files.map(({ path }) => kindOf(path)))].sort().join(' '),
  ]);
  const bundle = '.mjs .mjs.map';
  expect(Object.fromEntries(listed)).toEqual({
    '.': '.json .md',
    'bundles/activator': bundle,
    'bundles/api': bundle,
    'bundles/api/page': '.css .html .js',
    'bundles/dispatcher': bundle,
    'bundles/housekeeping': bundle,
    'bundles/manager': bundle,
    'bundles/migrate': bundle,
    'bundles/migrate/migrations': '.sql',
    'bundles/sync': bundle,
    cli: '.d.ts .js .mjs',
    'functions/executor': '.d.ts .js',
    'functions/middleware': '.d.ts .js',
    infra: '.d.ts .js',
    local: '.d.ts .js .mjs',
    shared: '.d.ts .js .sql',
  });
  expect(built.current.files.filter(({ path }) => /(^|\/)(test|bench|examples)\/|\.test\./.test(path))).toEqual([]);
});

test('it is small', () => {
  expect(built.current.packedBytes).toBeLessThan(4_000_000);
  expect(built.current.unpackedBytes).toBeLessThan(16_000_000);
});

test('everything that the clone exports is exported as a declaration and a module', () => {
  const { exports, bin } = description();
  expect(Object.keys(exports)).toEqual([...Object.keys(clone.exports), './package.json']);
  for (const path of Object.keys(clone.exports)) {
    const source = clone.exports[path].replace(/\.ts$/, '');
    expect(exports[path], path).toEqual({ types: `${source}.d.ts`, default: `${source}.js` });
    expect(Object.keys(exports[path])[0], 'the first condition that fits is taken').toBe('types');
    for (const file of Object.values<string>(exports[path])) expect(existsSync(join(built.current.directory, file)), file).toBe(true);
  }
  expect(read(bin.waybill)).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test('the CDK comes from the project that installs it, in the version that the stack is tested with, or a later one', () => {
  const { dependencies, peerDependencies } = description();
  expect(Object.keys(peerDependencies)).toEqual(['aws-cdk-lib', 'constructs']);
  for (const name of Object.keys(peerDependencies)) expect(dependencies[name]).toBeUndefined();
  expect(peerDependencies['aws-cdk-lib']).toBe(`^${clone.devDependencies['aws-cdk-lib']}`);
});

test('it says nothing of how the clone is worked on', () => {
  for (const field of ['private', 'scripts', 'devDependencies', 'overrides', 'allowScripts'])
    expect(description()).not.toHaveProperty(field);
});

test('every import leads to a file of the package or to a package that npm installs with it', () => {
  const { dependencies, peerDependencies, optionalDependencies, exports } = description();
  const installed = Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies });
  const modules = built.current.files.map(({ path }) => path).filter(isModule);
  // Of the declarations only what a compiler reads: those of our own functions name types that nobody else needs.
  const exported = Object.keys(clone.exports).map((path) => exports[path].types);
  const declarations = new Set<string>();
  for (const path of exported) collectDeclarations(join(path), declarations);
  expect(modules.length).toBeGreaterThan(200);
  expect(declarations.size).toBeGreaterThan(50);

  const lost = [...modules, ...declarations].flatMap((path) =>
    importsOf(path)
      .filter((specifier) => !leadsSomewhere(path, specifier, installed))
      .map((specifier) => `${path} → ${specifier}`),
  );
  // The bundler puts the user's app in its place.
  expect(lost).toEqual(['functions/executor/handler.js → waybill:app']);
});

test('no file names the directory of the clone', () => {
  for (const { path } of built.current.files) expect(read(path).includes(packageRoot), path).toBe(false);
});

/** The rooms of the house as one each, but every bundle and every function by itself. */
function folderOf(path: string): string {
  const folder = dirname(path);
  return /^(bundles|functions)\//.test(folder) ? folder : folder.split('/')[0]!;
}

function kindOf(path: string): string {
  return /(\.d\.ts|\.mjs\.map)$/.exec(path)?.[0] ?? extname(path);
}

function importsOf(path: string): string[] {
  const text = read(path);
  const statements = text.matchAll(/^(?:import|export)\s(?:[^'";]*?\sfrom\s+)?['"]([^'"]+)['"]/gm);
  return [...statements, ...text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/g)].map(([, specifier]) => specifier!);
}

/** The file of the package that a relative import means. A declaration keeps the ending of its source, in whose place a compiler looks for the declaration. */
function targetOf(from: string, specifier: string): string {
  const target = join(dirname(from), specifier);
  return from.endsWith('.d.ts') ? target.replace(/(?<!\.d)\.ts$/, '.d.ts') : target;
}

function collectDeclarations(path: string, found: Set<string>): void {
  if (found.has(path) || !existsSync(join(built.current.directory, path))) return;
  found.add(path);
  for (const specifier of importsOf(path)) if (specifier.startsWith('.')) collectDeclarations(targetOf(path, specifier), found);
}

function leadsSomewhere(from: string, specifier: string, installed: string[]): boolean {
  if (specifier.startsWith('.')) return existsSync(join(built.current.directory, targetOf(from, specifier)));
  return isBuiltin(specifier) || installed.some((name) => specifier === name || specifier.startsWith(`${name}/`));
}
