import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { LoadedApp } from './evaluate-app.ts';

/*
 * Runs in a process of its own: `node load-app.ts <app.mjs> <result file>`. The answer goes to a file, since the user's modules may print
 * whatever they like, and the process ends as soon as it is written, since they may have opened connections that would keep it alive. Killed
 * before that, it leaves no file, which the parent reports.
 */
const [appModule, resultFile] = process.argv.slice(2) as [string, string];
writeFileSync(resultFile, JSON.stringify(await loadApp(appModule)));
process.exit(0);

async function loadApp(path: string): Promise<LoadedApp> {
  try {
    const { default: app } = await import(pathToFileURL(path).href);
    if (typeof app?.toDefinition !== 'function') return { outcome: 'not_an_app', received: describe(app) };
    return { outcome: 'loaded', definition: JSON.stringify(await app.toDefinition()) };
  } catch (error) {
    return { outcome: 'failed', ...describeError(error) };
  }
}

function describe(value: unknown): string {
  if (value === undefined) return 'no default export';
  return value === null ? 'null' : `a default export of type ${typeof value}`;
}

function describeError(error: unknown): { message: string; code?: string; stack?: string } {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  return { message: error.message, ...(typeof code === 'string' ? { code } : {}), ...(error.stack ? { stack: error.stack } : {}) };
}
