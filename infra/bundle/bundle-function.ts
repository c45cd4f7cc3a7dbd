import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { type BuildFailure, type BuildOptions, type BuildResult, buildSync, formatMessagesSync, type Metafile } from 'esbuild';
import { BundleError } from './bundle-error.ts';
import { displayPath, packageRoot } from './package-root.ts';
import { renameSources } from './rename-sources.ts';

export interface BundleFunction {
  readonly name: string;
  /** The module that exports `handler`; it becomes `index.mjs`. */
  readonly entry: string;
  /** Emptied first: a chunk left over from an earlier build would change the asset's hash. */
  readonly outputDirectory: string;
  /** Further modules that share chunks with the handler, by output name: `{ app: '/…/app.ts' }` becomes `app.mjs`. */
  readonly entries?: Readonly<Record<string, string>>;
  /** Module specifiers that stand for a file. */
  readonly alias?: Readonly<Record<string, string>>;
  /** Directories copied as they are, by their name in the bundle. */
  readonly directories?: Readonly<Record<string, string>>;
  /** Where paths in source maps begin. */
  readonly sourceRoot?: string;
}

export interface Bundle {
  readonly name: string;
  readonly directory: string;
  /** esbuild's account of what went into each output file, keyed by file name within the bundle. */
  readonly outputs: Metafile['outputs'];
  /** Every file that was read, relative to the source root: also one of which nothing is left, because its constants were inlined. */
  readonly inputs: readonly string[];
}

/**
 * Builds one function as split, minified ES modules in a flat directory.
 *
 * The same sources give the same bytes in every clone and every output directory, since the asset's hash decides what a deployment replaces.
 * esbuild hashes source map paths, which are relative to the output, into the names of chunks; so it is told one output directory at a fixed
 * place below the root, writes nothing itself, and the files go where the caller wants them. Flat, so that `new URL('./x', import.meta.url)`
 * means the same in every chunk.
 *
 * Synchronous because constructs are. Killed half-way it leaves a partial directory that the next build empties.
 */
export function bundleFunction({
  name,
  entry,
  outputDirectory,
  entries = {},
  alias = {},
  directories = {},
  sourceRoot = packageRoot,
}: BundleFunction): Bundle {
  const entryPoints = { index: resolve(entry), ...entries };
  for (const path of Object.values(entryPoints)) requireFile(path);

  const nominalDirectory = join(sourceRoot, 'dist', 'bundle');
  const result = build({
    ...settings,
    absWorkingDir: sourceRoot,
    entryPoints,
    outdir: nominalDirectory,
    alias: { ...alias },
  });

  rmSync(outputDirectory, { recursive: true, force: true });
  mkdirSync(outputDirectory, { recursive: true });
  for (const file of result.outputFiles) {
    const contents = file.path.endsWith('.map') ? renameSources(file.text, { mapDirectory: nominalDirectory, sourceRoot }) : file.contents;
    writeFileSync(join(outputDirectory, basename(file.path)), contents);
  }
  for (const [target, source] of Object.entries(directories)) cpSync(source, join(outputDirectory, target), { recursive: true });

  const outputs = Object.fromEntries(Object.entries(result.metafile.outputs).map(([path, output]) => [basename(path), output]));
  return { name, directory: outputDirectory, outputs, inputs: Object.keys(result.metafile.inputs) };
}

const settings = {
  bundle: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  // The SDK's ES modules shake and split; its CommonJS builds do neither.
  mainFields: ['module', 'main'],
  splitting: true,
  outExtension: { '.js': '.mjs' },
  chunkNames: '[name]-[hash]',
  minify: true,
  // Step and error names are derived from function and class names.
  keepNames: true,
  sourcemap: 'linked',
  // A frame names its file and line without them, and they would be half of every bundle.
  sourcesContent: false,
  // An optional native addon that pg only asks for by request.
  external: ['pg-native'],
  // What CommonJS dependencies expect to find. Minifying renames every top-level name of the bundled code, so these collide with none.
  banner: {
    js: [
      `import { createRequire as createRequireForBundle } from 'node:module';`,
      'const require = createRequireForBundle(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname;',
    ].join(''),
  },
  logLevel: 'silent',
  legalComments: 'none',
} as const satisfies BuildOptions;

type Built = BuildResult<typeof settings>;

function build(options: BuildOptions): Built {
  try {
    return buildSync(options) as Built;
  } catch (error) {
    const { errors } = error as BuildFailure;
    if (errors === undefined) throw error;
    const messages = formatMessagesSync(errors, { kind: 'error' }).join('').trim();
    throw new BundleError('bundle_failed', `the code could not be bundled:\n\n${messages}`, error);
  }
}

function requireFile(path: string): void {
  if (existsSync(path)) return;
  throw new BundleError(
    'entry_missing',
    `there is no file '${displayPath(path)}': give the path of a module, relative to ${process.cwd()}`,
  );
}
