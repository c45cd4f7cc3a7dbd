import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppDefinition } from '../../shared/index.ts';
import { BundleError } from './bundle-error.ts';
import { displayPath, ownModule } from './package-root.ts';

export interface EvaluateApp {
  /** Where `bundleExecutor` put `app.mjs`. */
  readonly bundleDirectory: string;
  /** The user's file, as errors should name it. */
  readonly entry: string;
  readonly timeoutSeconds?: number;
}

/** What the child process found; the definition travels as text so that what `toJSON` methods made of it is what is kept. */
export type LoadedApp =
  | { readonly outcome: 'loaded'; readonly definition: string }
  | { readonly outcome: 'not_an_app'; readonly received: string }
  | { readonly outcome: 'failed'; readonly message: string; readonly code?: string; readonly stack?: string };

const loader = ownModule('infra/bundle/load-app');

/**
 * Loads the bundled app once, in a process of its own, and returns what it declares. What it prints appears on standard error, since standard
 * output belongs to whoever synthesizes.
 */
export function evaluateApp({ bundleDirectory, entry, timeoutSeconds = 30 }: EvaluateApp): AppDefinition {
  const directory = realpathSync(bundleDirectory);
  const resultDirectory = mkdtempSync(join(tmpdir(), 'waybill-app-'));
  try {
    const resultFile = join(resultDirectory, 'result.json');
    const child = spawnSync(process.execPath, ['--enable-source-maps', loader, join(directory, 'app.mjs'), resultFile], {
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      timeout: timeoutSeconds * 1000,
      killSignal: 'SIGKILL',
      maxBuffer: Number.POSITIVE_INFINITY,
    });
    const printed = withoutBundlePaths(child.stdout + child.stderr, directory);
    const result = readResult(resultFile);
    if (result === undefined) throw diedError({ entry, printed, child, timeoutSeconds });
    process.stderr.write(printed);
    return interpret(result, { entry, directory });
  } finally {
    rmSync(resultDirectory, { recursive: true, force: true });
  }
}

function interpret(result: LoadedApp, { entry, directory }: { entry: string; directory: string }): AppDefinition {
  const file = displayPath(entry);
  switch (result.outcome) {
    case 'loaded':
      return JSON.parse(result.definition);
    case 'not_an_app':
      throw new BundleError(
        'not_an_app',
        `${file} has ${result.received}: it must end in \`export default app({ name, workflows, manifests })\``,
      );
    case 'failed': {
      if (result.code === 'invalid_app') throw new BundleError('invalid_app', result.message);
      const frames = userFrames(withoutBundlePaths(result.stack ?? '', directory));
      const advice = 'its modules are imported at synth; open clients and read secrets inside run';
      throw new BundleError('app_not_loadable', [`${file} could not be loaded: ${result.message}`, ...frames, advice].join('\n'));
    }
  }
}

/** No result: the app ended the process itself, threw outside the import, or never stopped loading. */
function diedError({
  entry,
  printed,
  child,
  timeoutSeconds,
}: {
  entry: string;
  printed: string;
  child: Child;
  timeoutSeconds: number;
}): BundleError {
  const file = displayPath(entry);
  if ((child.error as NodeJS.ErrnoException | undefined)?.code === 'ETIMEDOUT') {
    return new BundleError(
      'app_timeout',
      `${file} did not finish loading within ${timeoutSeconds} s: wait for nothing while a module is imported, only inside run`,
    );
  }
  const end = child.signal ? `signal ${child.signal}` : `exit code ${child.status}`;
  return new BundleError(
    'app_not_loadable',
    `${file} could not be loaded: its process ended with ${end} before the app was read\n${printed}`.trim(),
  );
}

type Child = Pick<ReturnType<typeof spawnSync>, 'error' | 'signal' | 'status'>;

function readResult(path: string): LoadedApp | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Source maps place the user's files beside the bundle; without that prefix they are paths a person knows. */
function withoutBundlePaths(text: string, directory: string): string {
  return text.replaceAll(`file://${directory}/`, '').replaceAll(`${directory}/`, '');
}

/** The lines of a stack that the author wrote: not Node's, not the loader's, and not the bundle's own, which no source map leads back from. */
function userFrames(stack: string): string[] {
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '));
  return frames.filter((line) => !/node:internal|load-app\.[jt]s|[ (](app|chunk-[A-Z0-9]+)\.mjs:\d/.test(line)).slice(0, 5);
}
