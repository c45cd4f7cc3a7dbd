import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AppOptions, app, cron, every, InvalidAppError, type Scheduler, workflow } from '../../shared/index.ts';

const copy = workflow({ name: 'copy', input: z.object({ table: z.string(), limit: z.number().optional() }), run: () => null });
const plain = workflow({ name: 'plain', input: z.unknown(), run: () => null });

const define = (manifests: (scheduler: Scheduler) => void, workflows: AppOptions['workflows'] = [copy, plain]) =>
  app({ name: 'etl', workflows, manifests }).toDefinition();

async function mistakesOf(defining: Promise<unknown>): Promise<readonly string[]> {
  const error = await defining.catch((caught: unknown) => caught);
  if (error instanceof InvalidAppError) return error.mistakes;
  throw new Error(`the app was not refused: ${error}`);
}

const NAMES = "must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit";

describe('an app', () => {
  it('says as JSON what it declares, and only what it states', async () => {
    const definition = await define((scheduler) =>
      scheduler
        .schedule(copy, 'copy-orders', { table: 'orders' }, every.minutes(5), {
          group: { name: 'copies', maxActiveJobs: 2 },
          misfire: 'skip',
        })
        .schedule(copy, 'copy-users', { table: 'users' }, cron('0 2 * * *', { timeZone: 'Europe/London' }), {
          group: 'copies',
          priority: 7,
        })
        .schedule(plain, 'alone', null, every.hours(1, { anchor: 'completion' }), {
          exclude: [{ type: 'weekdays', weekdays: ['sunday'] }],
        }),
    );
    expect(JSON.parse(JSON.stringify(definition))).toEqual({
      name: 'etl',
      workflows: [
        {
          name: 'copy',
          pool: 'default',
          inputSchema: expect.objectContaining({
            required: ['table'],
            properties: { table: { type: 'string' }, limit: { type: 'number' } },
          }),
        },
        { name: 'plain', pool: 'default', inputSchema: expect.anything() },
      ],
      groups: [{ name: 'copies', maxActiveJobs: 2 }, { name: 'alone' }],
      manifests: [
        {
          externalId: 'copy-orders',
          workflow: 'copy',
          input: { table: 'orders' },
          group: 'copies',
          schedule: { type: 'interval', intervalSeconds: 300, anchor: 'occurrence' },
          misfire: { policy: 'skip' },
        },
        {
          externalId: 'copy-users',
          workflow: 'copy',
          input: { table: 'users' },
          group: 'copies',
          schedule: { type: 'cron', expression: '0 2 * * *', timeZone: 'Europe/London' },
          priority: 7,
        },
        {
          externalId: 'alone',
          workflow: 'plain',
          input: null,
          group: 'alone',
          schedule: { type: 'interval', intervalSeconds: 3600, anchor: 'completion' },
          exclusions: [{ type: 'weekdays', weekdays: ['sunday'] }],
        },
      ],
    });
  });

  it('stores the input as it was given, not as the schema parses it', async () => {
    const trimming = workflow({ name: 'trim', input: z.object({ name: z.string().trim(), size: z.number().default(1) }), run: () => null });
    const { manifests } = await define((scheduler) => scheduler.schedule(trimming, 'trim', { name: ' x ' }, every.hours(1)), [trimming]);
    expect(manifests[0]!.input).toEqual({ name: ' x ' });
  });

  it('is accepted with a schema that cannot be told as JSON Schema, and then has none', async () => {
    const opaque = workflow({ name: 'opaque', input: z.object({ at: z.date() }).or(z.null()), run: () => null });
    const { workflows } = await define((scheduler) => scheduler.schedule(opaque, 'opaque', null, every.hours(1)), [opaque]);
    expect(workflows).toEqual([{ name: 'opaque', pool: 'default' }]);
  });
});

describe('every mistake is reported', () => {
  it('together, in one error that names the app', async () => {
    const stranger = workflow({ name: 'stranger', input: z.unknown(), run: () => null });
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    const defining = app({
      name: 'my app',
      workflows: [copy, copy, plain, { ...plain, name: 'a/b' }],
      manifests: (scheduler) => {
        scheduler
          .schedule(copy, 'twice', { table: 'a' }, every.hours(1), { group: { name: 'shared', priority: 1 } })
          .schedule(copy, 'twice', { table: 'b' }, every.hours(1), { group: { name: 'shared', priority: 2 } })
          .schedule(plain, 'not an id', {}, every.hours(1))
          .schedule(stranger, 'unknown-workflow', {}, every.hours(1))
          .schedule(plain, 'bad-cron', {}, cron('61 * * * *', { timeZone: 'Europe/Lundon' }))
          .schedule(plain, 'bad-interval', {}, every.seconds(0))
          .schedule(plain, 'bad-exclusion', {}, every.hours(1), { exclude: [{ type: 'dates', dates: ['2026-02-30'] }] })
          .schedule(plain, 'cyclic', cyclic, every.hours(1))
          .schedule(plain, 'zero', { text: 'a\0b' }, every.hours(1))
          .schedule(copy, 'bad-input', { table: 7, limit: 'x' } as never, every.hours(1))
          .schedule(plain, 'bad-group', {}, every.hours(1), { group: '' });
      },
    }).toDefinition();
    const mistakes = await mistakesOf(defining);
    expect(mistakes).toEqual([
      `app name 'my app' ${NAMES}`,
      `workflow name 'a/b' ${NAMES}`,
      "workflow 'copy' is listed twice; names must be unique",
      "manifest 'twice' is declared twice; ids must be unique",
      `manifest 'not an id': its id ${NAMES}`,
      "manifest 'unknown-workflow': workflow 'stranger' is not part of the app; add it to 'workflows'",
      expect.stringMatching(/^manifest 'bad-cron': cron expression '61 \* \* \* \*' is invalid: minute/),
      expect.stringMatching(/^manifest 'bad-cron': time zone 'Europe\/Lundon' is invalid: .*did you mean 'Europe\/London'/),
      expect.stringMatching(/^manifest 'bad-interval': interval is invalid: it must be a whole number of seconds from 1 .*got 0/),
      expect.stringMatching(/^manifest 'bad-exclusion': exclusion 1 is invalid: a date must exist .*got '2026-02-30'/),
      expect.stringMatching(/^manifest 'cyclic': its input cannot be stored: it is not JSON/),
      expect.stringMatching(/^manifest 'zero': its input cannot be stored: it contains the character \\u0000/),
      expect.stringMatching(/^manifest 'bad-input': its input is invalid at 'table': /),
      expect.stringMatching(/^manifest 'bad-input': its input is invalid at 'limit': /),
      "manifest 'bad-group': group name '' must be 1 to 200 characters",
      "group 'shared': priority is stated as 1 and as 2; state it once",
    ]);
    const message = await defining.catch((error: Error) => error.message);
    expect(message).toMatch(/^app 'my app' has 16 mistakes:\n {2}- app name/);
    expect(String(message).split('\n')).toHaveLength(17);
  });

  it.each([
    [{ priority: 32 }, 'priority must be a whole number from 0 to 31, got 32'],
    [{ priority: 1.5 }, 'priority must be a whole number from 0 to 31, got 1.5'],
    [{ maxAttempts: 0 }, 'maxAttempts must be a whole number from 1 to 1000, got 0'],
    [{ timeoutSeconds: 0 }, 'timeoutSeconds must be a whole number from 1 to 31536000, got 0'],
    [{ jitterSeconds: -1 }, 'jitterSeconds must be a whole number from 0 to 86400, got -1'],
    [{ misfireThresholdSeconds: Number.NaN }, 'misfireThresholdSeconds must be a whole number from 0 to 31536000, got NaN'],
    [{ expectWithinSeconds: 0 }, 'expectWithinSeconds must be a whole number from 1 to 31536000, got 0'],
    [{ backoff: { initialSeconds: -1 } }, 'backoff.initialSeconds must be a whole number from 0 to 86400, got -1'],
    [{ backoff: { maxSeconds: 0 } }, 'backoff.maxSeconds must be a whole number from 1 to 31536000, got 0'],
    [{ backoff: { factor: 0.5 } }, 'backoff.factor must be 1 to 100, got 0.5'],
    [{ backoff: { jitter: 2 } }, 'backoff.jitter must be 0 to 1, got 2'],
    [{ group: { priority: 99 } }, 'group.priority must be a whole number from 0 to 31, got 99'],
    [{ group: { maxActiveJobs: 0 } }, 'group.maxActiveJobs must be a whole number from 1 to 1000000, got 0'],
    [{ group: 'x'.repeat(201) }, `group name '${'x'.repeat(201)}' must be 1 to 200 characters`],
    [{ group: 'a\0b' }, "group name 'a\0b' must not contain the character U+0000"],
  ])('for the options %j', async (options, mistake) => {
    const mistakes = await mistakesOf(define((scheduler) => scheduler.schedule(plain, 'job', {}, every.hours(1), options)));
    expect(mistakes).toEqual([`manifest 'job': ${mistake}`]);
  });

  it('as one, when there is only one', async () => {
    const defining = define((scheduler) => scheduler.schedule(plain, 'job', {}, every.hours(1), { priority: -1 }));
    await expect(defining).rejects.toThrow(
      "app 'etl' has a mistake:\n  - manifest 'job': priority must be a whole number from 0 to 31, got -1",
    );
  });
});
