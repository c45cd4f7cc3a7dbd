import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AppOptions, app, cron, every, exclude, type Scheduler, workflow } from '../../shared/index.ts';
import { copy, mistakesOf, plain } from './use-mistakes.ts';

const define = (manifests: (scheduler: Scheduler) => void, workflows: AppOptions['workflows'] = [copy, plain]) =>
  app({ name: 'etl', workflows, manifests }).toDefinition();

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

describe('an app that waits', () => {
  it('is heard to the end', async () => {
    const { manifests } = await define(async (scheduler) => {
      const tables = await new Promise<string[]>((resolve) => setImmediate(resolve, ['orders']));
      for (const table of tables) scheduler.schedule(copy, table, { table }, every.hours(1));
    });
    expect(manifests.map(({ externalId }) => externalId)).toEqual(['orders']);
  });
});

describe('every option', () => {
  it('of a timed manifest is in its definition', async () => {
    const settings = {
      priority: 5,
      maxAttempts: 6,
      backoff: { initialSeconds: 1, factor: 3, maxSeconds: 60, jitter: 0.5 },
      timeoutSeconds: 900,
      isEnabled: false,
      pool: 'heavy',
      expectWithinSeconds: 120,
      misfireThresholdSeconds: 30,
      jitterSeconds: 8,
    };
    const { manifests, groups } = await define((scheduler) =>
      scheduler.schedule(plain, 'job', {}, every.days(1), {
        group: { name: 'g', priority: 3, maxActiveJobs: 4, isEnabled: false },
        ...settings,
        misfire: { fireAll: 7 },
        exclude: [
          exclude.weekdays('saturday', 'sunday'),
          exclude.dates('2026-12-25'),
          exclude.dateRange('2026-12-27', '2026-12-31'),
          exclude.timeWindow('22:00', '06:00'),
        ],
      }),
    );
    expect(groups).toEqual([{ name: 'g', priority: 3, maxActiveJobs: 4, isEnabled: false }]);
    expect(manifests).toEqual([
      {
        externalId: 'job',
        workflow: 'plain',
        input: {},
        group: 'g',
        schedule: { type: 'interval', intervalSeconds: 86_400, anchor: 'occurrence' },
        ...settings,
        misfire: { policy: 'fire_all', limit: 7 },
        exclusions: [
          { type: 'weekdays', weekdays: ['saturday', 'sunday'] },
          { type: 'dates', dates: ['2026-12-25'] },
          { type: 'date_range', from: '2026-12-27', to: '2026-12-31' },
          { type: 'time_window', from: '22:00', to: '06:00' },
        ],
      },
    ]);
  });

  it('that is undefined was not stated, neither of the manifest nor of its group', async () => {
    const { manifests, groups } = await define((scheduler) =>
      scheduler
        .schedule(plain, 'one', {}, every.hours(1), { group: { name: 'g', priority: 3 }, pool: undefined })
        .schedule(plain, 'two', {}, every.hours(1), { group: { name: 'g', priority: undefined }, misfire: undefined }),
    );
    expect(groups).toEqual([{ name: 'g', priority: 3 }]);
    expect(manifests.flatMap((manifest) => Object.keys(manifest))).not.toContain('pool');
    expect(manifests.flatMap((manifest) => Object.keys(manifest))).not.toContain('misfire');
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
    [{ backoff: { initialSeconds: 90, maxSeconds: 60 } }, 'backoff.initialSeconds must not be more than backoff.maxSeconds, got 90 and 60'],
    [{ backoff: 5 as never }, 'backoff must be an object, got 5'],
    [{ backoff: { initalSeconds: 5 } as never }, "option 'backoff.initalSeconds' does not exist; did you mean 'initialSeconds'?"],
    [{ isEnabled: 'no' as never }, "isEnabled must be true or false, got 'no'"],
    [{ pool: 'Heavy Jobs' }, "pool 'Heavy Jobs' must be 1 to 32 lower-case letters, digits and dashes, beginning with a letter"],
    [{ group: { isEnabled: 1 as never } }, 'group.isEnabled must be true or false, got 1'],
    [{ group: { maxActive: 4 } as never }, "option 'group.maxActive' does not exist; allowed are name, priority, maxActiveJobs, isEnabled"],
    [{ group: 7 as never }, 'group must be a name or an object, got 7'],
    [{ group: 'x'.repeat(201) }, `group name '${'x'.repeat(99)}… must be 1 to 200 characters`],
    [{ group: 'a\ud800' }, "group name 'a\ud800' must not contain half of a surrogate pair"],
    [{ group: 'a\0b' }, "group name 'a\0b' must not contain the character U+0000"],
    [{ prioirty: 1 } as never, "option 'prioirty' does not exist; did you mean 'priority'?"],
    [
      { mode: 'any' } as never,
      "option 'mode' is not for a timed manifest; allowed are group, priority, maxAttempts, backoff, timeoutSeconds, isEnabled, pool, expectWithinSeconds, misfire, misfireThresholdSeconds, jitterSeconds, exclude",
    ],
    [{ misfire: 'fire_twice' as never }, "misfire must be 'fire_once', 'skip' or { fireAll: n }, got 'fire_twice'"],
    [{ misfire: { fireall: 3 } as never }, "misfire must be 'fire_once', 'skip' or { fireAll: n }, got {\"fireall\":3}"],
    [{ misfire: { fireAll: 10_001 } }, 'misfire.fireAll must be a whole number from 1 to 10000, got 10001'],
    [{ exclude: 'sunday' as never }, "exclusions are invalid: they must be a list, got 'sunday'"],
    ['hourly' as never, "its options must be an object, got 'hourly'"],
  ])('for the options %j', async (options, mistake) => {
    const mistakes = await mistakesOf(define((scheduler) => scheduler.schedule(plain, 'job', {}, every.hours(1), options)));
    expect(mistakes).toEqual([`manifest 'job': ${mistake}`]);
  });

  it('of every exclusion, each by its number', async () => {
    const bad = [exclude.dates('2026-02-30'), exclude.weekdays('monday'), exclude.timeWindow('10:00', '10:00')];
    const mistakes = await mistakesOf(define((scheduler) => scheduler.schedule(plain, 'job', {}, every.hours(1), { exclude: bad })));
    expect(mistakes).toEqual([
      expect.stringMatching(/^manifest 'job': exclusion 1 is invalid/),
      expect.stringMatching(/^manifest 'job': exclusion 3 is invalid/),
    ]);
  });

  it('of workflows, also of what is none', async () => {
    const twin = workflow({ name: 'copy', input: z.unknown(), run: () => null });
    const workflows = [copy, { ...plain, pool: 'A' }, { name: 'bare', pool: 'default' }, undefined] as AppOptions['workflows'];
    const mistakes = await mistakesOf(
      define((scheduler) => {
        scheduler.schedule(twin, 'twin', {}, every.hours(1));
        scheduler.schedule(undefined as never, 'none', {} as never, every.hours(1));
      }, workflows),
    );
    expect(mistakes).toEqual([
      "workflow 'plain': pool 'A' must be 1 to 32 lower-case letters, digits and dashes, beginning with a letter",
      "workflow 'bare': input must be a Standard Schema validator, such as one of zod or valibot",
      "workflow 'bare': run must be a function, got undefined",
      "workflows must be made by 'workflow', got undefined",
      "manifest 'twin': its workflow is not the one called 'copy' in 'workflows'; names must be unique",
      "manifest 'none': its workflow must be made by 'workflow', got undefined",
    ]);
  });

  it('of groups once per setting, however many manifests disagree', async () => {
    const items = [1, 2, 3, 4, 5].map((priority) => ({ id: `${priority}`, input: {}, group: { priority } }));
    const mistakes = await mistakesOf(define((scheduler) => scheduler.scheduleMany(plain, 'many', items, every.hours(1))));
    expect(mistakes).toEqual(["group 'many': priority is stated as 1 and as 2 and as 3; state it once"]);
  });

  it('as one, when there is only one', async () => {
    const defining = define((scheduler) => scheduler.schedule(plain, 'job', {}, every.hours(1), { priority: -1 }));
    await expect(defining).rejects.toThrow(
      "app 'etl' has a mistake:\n  - manifest 'job': priority must be a whole number from 0 to 31, got -1",
    );
  });
});
