import middy from '@middy/core';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answerRequest } from '../../functions/api/answer-request.ts';
import type { Answer } from '../../functions/api/route.ts';
import { withProblemDetails } from '../../functions/middleware/problem-details.ts';
import { type HttpApi, startHttpApi } from '../../local/http-api/http-api.ts';
import type { InvocationResult } from '../../local/lambda/invocation.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { lease, plantIn } from '../operations/plant.ts';
import { useBrowser } from '../support/browser.ts';
import { useDatabase } from '../support/database.ts';
import { recordDoorbell } from '../support/engine.ts';

const server = useDatabase();
const browser = useBrowser();
let database: Database;
let api: HttpApi;
let plant: ReturnType<typeof plantIn>;
let isDown = false;

const identity = {
  accessKey: 'LOCAL',
  accountId: '000000000000',
  callerId: 'local',
  userArn: 'arn:aws:iam::000000000000:user/local',
  userId: 'local',
};

beforeAll(async () => {
  database = openDatabase({ url: server.url });
  plant = plantIn(server.pool);
  const log = createLogger('api', () => {});
  const handler = middy<APIGatewayProxyEventV2, Answer>((event: APIGatewayProxyEventV2) =>
    answerRequest(event, database, recordDoorbell()),
  ).use(withProblemDetails(log));
  const invoke = async (event: unknown): Promise<InvocationResult> =>
    isDown
      ? { status: 'throttled' }
      : { status: 'succeeded', payload: await handler(event as APIGatewayProxyEventV2, { awsRequestId: 'invocation' } as Context) };
  const route = { routeKey: '$default', invoke, payloadFormatVersion: '2.0', timeoutMs: 30_000, authorizationType: 'NONE' } as const;
  api = await startHttpApi({ port: 0, apiId: 'local', stageName: '$default', routes: [route], identity });
});
afterAll(async () => {
  await api.close();
  await database.close();
});
beforeEach(async () => {
  await server.pool.query(
    'truncate waybill.manifest, waybill.execution, waybill.execution_step, waybill.work_queue, waybill.dead_letter cascade',
  );
});
afterEach(() => {
  isDown = false;
});

const instant = (seconds: number) => new Date(Date.now() + seconds * 1000);
const completed = (startedSecondsAgo: number, seconds = 3) => ({
  state: 'completed',
  created_at: instant(-startedSecondsAgo),
  started_at: instant(-startedSecondsAgo),
  finished_at: instant(seconds - startedSecondsAgo),
});
const failed = (message: string) => ({ ...completed(60), state: 'failed', failure_code: 'thrown', failure_message: message });
const every = (seconds: number) => ({ schedule_type: 'interval', interval_seconds: seconds, anchor: 'occurrence' });

/** The cells of a table's rows, as a reader sees them. */
const rows = (page: Page, table: 'manifests' | 'executions') =>
  page.evaluate<string[][]>(
    `Array.from(document.querySelectorAll('#${table} tr'), (row) => Array.from(row.children, (cell) => cell.textContent))`,
  );

/** For what the page does by itself: it looks at the API every two seconds. */
const eventually = <Seen>(look: () => Seen | Promise<Seen>) => expect.poll(look, { timeout: 10_000 });

describe('the overview', () => {
  it('shows manifests with their schedule, state, next due time and last runs', async () => {
    const etl = await plant.manifest('extract-orders', { ...every(300), next_due_at: instant(3_770), next_occurrence_at: instant(3_770) });
    await plant.manifest('late', { ...every(60), next_due_at: instant(-5), next_occurrence_at: instant(-5) });
    await plant.manifest('nightly', { schedule_type: 'cron', cron_expression: '0 2 * * *', time_zone: 'Europe/London', is_enabled: false });
    const bad = await plant.execution({ manifest_id: etl, workflow_name: 'extract', ...failed('no space left') });
    const good = await plant.execution({ manifest_id: etl, workflow_name: 'extract', ...completed(30) });
    const { page, complaints } = await browser.open(api.url);
    await eventually(() => rows(page, 'manifests')).toEqual([
      ['extract-orders', 'extract', 'every 5 minutes', 'scheduled', expect.stringMatching(/^in 1 h 2 min$/), ''],
      ['late', 'extract', 'every minute', 'scheduled', 'due now', 'none yet'],
      ['nightly', 'extract', 'cron 0 2 * * * (Europe/London)', 'disabled', '—', 'none yet'],
    ]);
    const dots = await page.evaluate<string[][]>(
      `Array.from(document.querySelectorAll('.dots a'), (link) => [link.className, link.getAttribute('href'), link.getAttribute('aria-label')])`,
    );
    expect(dots).toEqual([
      ['dot bad', `#/executions/${bad}`, expect.stringContaining(`execution ${bad}: failed`)],
      ['dot good', `#/executions/${good}`, expect.stringContaining(`execution ${good}: completed`)],
    ]);
    expect(await rows(page, 'executions')).toMatchObject([
      [good, 'completed', 'extract-orders', '1', expect.any(String), '3 s', ''],
      [bad, 'failed', 'extract-orders', '1', expect.any(String), '3 s', 'no space left'],
    ]);
    expect(complaints).toEqual([]);
  });

  it('counts down to the next run by itself', async () => {
    await plant.manifest('soon', { ...every(60), next_due_at: instant(40), next_occurrence_at: instant(40) });
    const { page } = await browser.open(api.url);
    const shown = async () =>
      Number(/^in (\d+) s$/.exec((await page.locator('#manifests time').first().textContent({ timeout: 5_000 })) ?? '')?.[1]);
    await eventually(shown).toBeGreaterThan(0);
    const first = await shown();
    await eventually(shown).toBeLessThan(first);
  });

  it('says so when there is nothing yet', async () => {
    const { page, complaints } = await browser.open(api.url);
    await eventually(() => page.locator('#manifests-note').textContent()).toBe('No manifests yet.');
    expect(await page.locator('#executions-note').textContent()).toBe('Nothing has run yet.');
    expect(complaints).toEqual([]);
  });

  it('shows a new execution without being reloaded, and keeps the focus where it is', async () => {
    const manifestId = await plant.manifest('job', every(60));
    const first = await plant.execution({ manifest_id: manifestId, ...completed(60) });
    const { page } = await browser.open(api.url);
    await page.locator(`#executions a[href="#/executions/${first}"]`).focus();
    const second = await plant.execution({ manifest_id: manifestId, state: 'in_progress', started_at: instant(-5), ...lease });
    await eventually(async () => (await rows(page, 'executions')).map(([id, state]) => [id, state])).toEqual([
      [second, 'in progress'],
      [first, 'completed'],
    ]);
    expect(await page.evaluate('document.activeElement.textContent')).toBe(first);
    await server.pool.query(
      `update waybill.execution set state = 'completed', finished_at = now(), lease_expires_at = null where id = $1`,
      [second],
    );
    await eventually(async () => (await rows(page, 'executions'))[0]?.[1]).toBe('completed');
  });

  it('finds manifests by a part of their id', async () => {
    for (const name of ['load-orders', 'load-users', 'report']) await plant.manifest(name);
    const { page } = await browser.open(api.url);
    await eventually(async () => (await rows(page, 'manifests')).length).toBe(3);
    await page.getByLabel('Find').fill('LOAD-o');
    await eventually(async () => (await rows(page, 'manifests')).map(([id]) => id)).toEqual(['load-orders']);
    await page.getByLabel('Find').fill('%');
    await eventually(() => page.locator('#manifests-note').textContent()).toBe('No manifest has this in its id.');
  });

  it('fits a phone: the page itself does not scroll sideways', async () => {
    const manifestId = await plant.manifest('x'.repeat(200), every(60));
    await plant.execution({ manifest_id: manifestId, ...failed('word'.repeat(200)) });
    const { page } = await browser.open(api.url, { viewport: { width: 375, height: 700 } });
    await eventually(async () => (await rows(page, 'executions')).length).toBe(1);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
  });
});

describe('text from outside', () => {
  const attack = '<img src=x onerror="window.attacked = true"><script>window.attacked = true</script>';

  it('is shown as it is, and never runs', async () => {
    const manifestId = await plant.manifest('job', { workflow_name: attack, ...every(60) });
    const execution = await plant.execution({
      manifest_id: manifestId,
      workflow_name: attack,
      initiator_name: attack,
      input: JSON.stringify({ [attack]: attack }),
      output: JSON.stringify(attack),
      failure_stack: attack,
      failure_step: attack,
      ...failed(attack),
    });
    await plant.step({ execution_id: execution, run_id: execution, name: attack, failure_message: attack });
    const { page, complaints } = await browser.open(api.url);
    await eventually(async () => (await rows(page, 'executions'))[0]?.[6]).toBe(attack);
    await page.locator(`#executions a`).click();
    await eventually(() => page.locator('#detail h2').allTextContents()).toContain(`Failure: thrown in step ${attack}`);
    expect(await page.locator('#detail pre').allTextContents()).toEqual([
      `${attack}\n\n${attack}`,
      JSON.stringify({ [attack]: attack }, null, 2),
      JSON.stringify(attack),
    ]);
    expect(await page.locator('#detail').textContent()).toContain(`user: ${attack}`);
    expect(await page.evaluate('[window.attacked, document.images.length, document.scripts.length]')).toEqual([undefined, 0, 1]);
    expect(complaints).toEqual([]);
  });

  it('would not run even if it became markup: the policy stops it', async () => {
    const { page, complaints } = await browser.open(api.url);
    const wasStopped = await page.evaluate(`new Promise((resolve) => {
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'window.attacked = true';
      document.body.append(script);
    })`);
    expect(wasStopped).toBe('script-src-elem');
    expect(await page.evaluate('window.attacked')).toBeUndefined();
    expect(complaints.join()).toContain('Content Security Policy');
  });
});

describe('an execution', () => {
  it('has a page of its own, with input, output, steps and attempts, that the address leads to', async () => {
    const manifestId = await plant.manifest('load', every(60));
    const first = await plant.execution({
      manifest_id: manifestId,
      workflow_name: 'load',
      ...failed('refused'),
      input: { table: 'orders' },
    });
    const second = await plant.execution({
      manifest_id: manifestId,
      workflow_name: 'load',
      run_id: first,
      attempt: 2,
      input: { table: 'orders' },
      output: { rowCount: 7 },
      progress_done: 7,
      progress_total: 9,
      progress_message: 'rows',
      ...completed(50, 65),
    });
    await plant.step({ execution_id: second, run_id: first, name: 'download', started_at: instant(-50), finished_at: instant(-48) });
    const { page, complaints } = await browser.open(`${api.url}/#/executions/${second}`);
    await eventually(() => page.title()).toBe(`Execution ${second} · Waybill`);
    const facts = await page.locator('#detail dl > *').allTextContents();
    expect(facts).toEqual(
      expect.arrayContaining([
        'State',
        'completed',
        'Manifest',
        'load',
        'Attempt',
        '2',
        'Duration',
        '1 min 5 s',
        'Progress',
        '7 of 9 rows',
      ]),
    );
    expect(await page.locator('#detail pre').allTextContents()).toEqual(['{\n  "table": "orders"\n}', '{\n  "rowCount": 7\n}']);
    expect(await page.locator('#detail h2').allTextContents()).toEqual([`Execution ${second}`, 'Input', 'Output', 'Attempts', 'Steps']);
    expect(await page.locator('#detail tbody th').allTextContents()).toEqual([
      `${first} · attempt 1 · load`,
      `${second} · attempt 2 · load`,
      'download',
    ]);
    expect(await page.locator('#overview').isVisible()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('is reached by a click and left by going back', async () => {
    const execution = await plant.execution(completed(60));
    const { page } = await browser.open(api.url);
    await page.locator('#executions a').click();
    await eventually(() => page.locator('#detail h2').first().textContent()).toBe(`Execution ${execution}`);
    await page.goBack();
    await eventually(() => page.locator('#overview').isVisible()).toBe(true);
    expect(await page.locator('#detail').isVisible()).toBe(false);
  });

  it('that does not exist is said not to exist', async () => {
    const { page } = await browser.open(`${api.url}/#/executions/999`);
    await eventually(() => page.locator('#detail').textContent()).toBe('Execution 999 does not exist.');
  });
});

describe('an API that does not answer', () => {
  it('is told of in a banner that goes when it is back, and what was shown stays', async () => {
    await plant.manifest('job', every(60));
    const { page } = await browser.open(api.url);
    await eventually(async () => (await rows(page, 'manifests')).length).toBe(1);
    expect(await page.getByRole('status').textContent()).toBe('');
    isDown = true;
    await eventually(() => page.getByRole('status').textContent()).toBe('cannot reach the API, retrying');
    expect(await rows(page, 'manifests')).toHaveLength(1);
    isDown = false;
    await eventually(() => page.getByRole('status').textContent()).toBe('');
  });
});

describe('the colours', () => {
  it.each(['light', 'dark'] as const)('are readable on a %s screen', async (colorScheme) => {
    const manifestId = await plant.manifest('extract-orders', {
      ...every(300),
      next_due_at: instant(125),
      next_occurrence_at: instant(125),
    });
    await plant.manifest('load-warehouse', { ...every(60), next_due_at: instant(12), next_occurrence_at: instant(12) });
    for (const message of ['the warehouse refused the connection', 'no space left'])
      await plant.execution({ manifest_id: manifestId, ...failed(message) });
    await plant.execution({ manifest_id: manifestId, ...completed(40), state: 'completed_with_warnings' });
    await plant.execution({ manifest_id: manifestId, ...completed(30) });
    await plant.execution({ manifest_id: manifestId, state: 'in_progress', started_at: instant(-8), ...lease });
    const { page, complaints } = await browser.open(api.url, { colorScheme, viewport: { width: 1_200, height: 700 } });
    await eventually(async () => (await rows(page, 'executions')).length).toBe(5);
    for (const selector of ['body', 'thead th', 'tbody th a', '#manifests td', '.quiet']) {
      expect(await contrast(page, selector), selector).toBeGreaterThan(4.5);
    }
    expect(complaints).toEqual([]);
  });
});

/** The contrast of an element's text with the page, as WCAG computes it: 4.5 is what it asks for. */
async function contrast(page: Page, selector: string): Promise<number> {
  const colours = (await page.evaluate(
    `[getComputedStyle(document.querySelector(${JSON.stringify(selector)})).color, getComputedStyle(document.body).backgroundColor]`,
  )) as string[];
  const [lighter, darker] = colours.map(luminance).sort((a, b) => b - a);
  return (lighter! + 0.05) / (darker! + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = (colour.match(/\d+/g) ?? []).slice(0, 3).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
