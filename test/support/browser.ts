import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type LaunchOptions, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll } from 'vitest';

/** A page, and everything that went wrong in it: errors on its console, uncaught exceptions, violations of its policy. */
export interface WatchedPage {
  page: Page;
  complaints: string[];
}

/** A real browser for the tests of the calling file, and pages that are closed after each of them. */
export function useBrowser(): { open(url: string, options?: BrowserContextOptions): Promise<WatchedPage> } {
  let browser: Browser;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    browser = await chromium.launch(await findBrowser());
  });
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
  });
  afterAll(() => browser?.close());
  return {
    async open(url, options) {
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'UTC', ...options });
      contexts.push(context);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      await page.goto(url);
      return { page, complaints };
    },
  };
}

/** The browser that CHROME_PATH names, or the packaged one where it runs, or an installed Chrome. */
async function findBrowser(): Promise<LaunchOptions> {
  const { CHROME_PATH } = process.env;
  if (CHROME_PATH) {
    await access(CHROME_PATH).catch(() => {
      throw new Error(`CHROME_PATH is '${CHROME_PATH}', where nothing is: set it to the path of a Chrome or Chromium, or unset it`);
    });
    return { executablePath: CHROME_PATH, args: ['--disable-gpu'] };
  }
  if (process.platform === 'linux' && process.arch === 'x64') {
    const directory = await inflateChromium();
    // Without a sandbox, because that needs rights which a container's root does not have; it opens nothing but our own page.
    return { executablePath: join(directory, 'chromium'), args: ['--no-sandbox', '--disable-gpu'] };
  }
  const installed = chromium.executablePath();
  const isInstalled = await access(installed).then(
    () => true,
    () => false,
  );
  return isInstalled ? { executablePath: installed } : { channel: 'chrome' };
}

const run = promisify(execFile);
const require = createRequire(import.meta.url);

/**
 * Unpacks the packaged Chromium once per installation. The package unpacks into the temporary directory and trusts whatever is there, so it gets one of its own;
 * the rename puts a complete result in place at once, whoever is killed or races.
 */
async function inflateChromium(): Promise<string> {
  const packageFolder = join(dirname(require.resolve('@sparticuz/chromium')), '..');
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const cache = join(packageFolder, '../../.cache/waybill');
  const directory = join(cache, `chromium-${version}`);
  if (await exists(directory)) return directory;
  await mkdir(cache, { recursive: true });
  const unfinished = await mkdtemp(`${directory}-`);
  try {
    const script = "import chromium from '@sparticuz/chromium'; await chromium.executablePath();";
    await run(process.execPath, ['--input-type=module', '-e', script], { cwd: packageFolder, env: { ...process.env, TMPDIR: unfinished } });
    await rename(unfinished, directory);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  }
  return directory;
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
