import { describe, expect, it } from 'vitest';
import { every, type Scheduler } from '../../shared/index.ts';
import { copy, define, mistakesOf, parentsOf, plain } from './use-mistakes.ts';

const items = (...ids: string[]) => ids.map((id) => ({ id, input: {} }));

describe('a batch', () => {
  it('is one manifest per item, called like the batch and the item, in a group called like the batch', async () => {
    const definition = await define((scheduler) =>
      scheduler.scheduleMany(
        copy,
        'delta',
        [
          { id: 'orders', input: { table: 'orders' } },
          { id: 'users', input: { table: 'users' } },
        ],
        every.seconds(10),
        {
          group: { maxActiveJobs: 4 },
          maxAttempts: 2,
        },
      ),
    );
    expect(definition.groups).toEqual([{ name: 'delta', maxActiveJobs: 4 }]);
    const schedule = { type: 'interval', intervalSeconds: 10, anchor: 'occurrence' };
    expect(definition.manifests).toEqual([
      { externalId: 'delta-orders', workflow: 'copy', input: { table: 'orders' }, group: 'delta', schedule, maxAttempts: 2 },
      { externalId: 'delta-users', workflow: 'copy', input: { table: 'users' }, group: 'delta', schedule, maxAttempts: 2 },
    ]);
  });

  it('says for all what an item may say otherwise for itself', async () => {
    const { manifests } = await define((scheduler) =>
      scheduler.scheduleMany(
        plain,
        'many',
        [
          { id: 'a', input: 1 },
          { id: 'b', input: 2, priority: 9, group: 'other', misfire: 'skip', timeoutSeconds: undefined },
        ],
        every.hours(1),
        { priority: 1, timeoutSeconds: 60 },
      ),
    );
    expect(manifests).toMatchObject([
      { priority: 1, timeoutSeconds: 60, group: 'many' },
      { priority: 9, timeoutSeconds: 60, group: 'other', misfire: { policy: 'skip' } },
    ]);
  });

  it('of dependents hangs each below the parents that it names, or else below the root', async () => {
    const definition = await define((scheduler) =>
      scheduler
        .schedule(plain, 'root', {}, every.hours(1))
        .includeMany(plain, 'first', [...items('a'), { id: 'b', input: {}, dependsOn: ['root', 'first-a'] }], { mode: 'any' })
        .thenIncludeMany(plain, 'second', [{ id: 'a', input: {}, dependsOn: 'first-a' }], { dormant: true })
        .include(plain, 'last', {}),
    );
    expect(parentsOf(definition)).toEqual({
      root: null,
      'first-a': ['root'],
      'first-b': ['root', 'first-a'],
      'second-a': ['first-a'],
      last: ['root'],
    });
    expect(definition.manifests.map(({ schedule }) => ('mode' in schedule ? `${schedule.type} ${schedule.mode}` : null))).toEqual([
      null,
      'dependent any',
      'dependent any',
      'dormant_dependent all',
      'dependent all',
    ]);
  });

  it('may be empty', async () => {
    const definition = await define((scheduler) =>
      scheduler.scheduleMany(plain, 'none', [], every.hours(1)).includeMany(plain, 'nothing', []),
    );
    expect(definition).toMatchObject({ manifests: [], groups: [] });
  });
});

describe('refuses', () => {
  it.each<[string, (scheduler: Scheduler) => void, string[]]>([
    [
      'items with the same id',
      (scheduler) => scheduler.scheduleMany(plain, 'many', items('a', 'b', 'a'), every.hours(1)),
      ["manifest 'many-a' is declared twice; ids must be unique"],
    ],
    [
      'items without an id',
      (scheduler) =>
        scheduler.scheduleMany(plain, 'many', [...items('', 'a'), { input: {} }, null, { id: 7, input: {} }] as never, every.hours(1)),
      [
        "batch 'many': item 1 must have an id, a text that is not empty, got ''",
        "batch 'many': item 3 must have an id, a text that is not empty, got undefined",
        "batch 'many': item 4 must have an id, a text that is not empty, got null",
        "batch 'many': item 5 must have an id, a text that is not empty, got 7",
      ],
    ],
    [
      'an item id that no manifest may have',
      (scheduler) => scheduler.scheduleMany(plain, 'many', items('a b'), every.hours(1)),
      ["manifest 'many-a b': its id must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit"],
    ],
    [
      'items that are no list',
      (scheduler) => scheduler.scheduleMany(plain, 'many', { a: 1 } as never, every.hours(1)),
      ['batch \'many\': its items must be a list of { id, input }, got {"a":1}'],
    ],
    [
      'a name that no manifest may begin with',
      (scheduler) => scheduler.scheduleMany(plain, '-many', [], every.hours(1)),
      ["batch name '-many' must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit"],
    ],
    [
      'two batches of one name',
      (scheduler) =>
        scheduler.scheduleMany(plain, 'many', items('a'), every.hours(1)).scheduleMany(plain, 'many', items('b'), every.hours(1)),
      ["batch 'many' is declared twice; names must be unique"],
    ],
    [
      'a batch whose ids could be those of another',
      (scheduler) => scheduler.scheduleMany(plain, 'many', [], every.hours(1)).scheduleMany(plain, 'many-more', items('a'), every.hours(1)),
      ["batch 'many-more' lies inside batch 'many', which owns all ids that begin with 'many-'; rename one"],
    ],
    [
      'a single manifest that is called like an item, declared before or after',
      (scheduler) =>
        scheduler
          .schedule(plain, 'many-before', {}, every.hours(1))
          .scheduleMany(plain, 'many', items('a'), every.hours(1))
          .include(plain, 'many-after', {}, { dependsOn: 'many-a' })
          .schedule(plain, 'manyfold', {}, every.hours(1))
          .schedule(plain, 'many', {}, every.hours(1)),
      [
        "manifest 'many-before' is not in batch 'many', which owns all ids that begin with 'many-'; rename one",
        "manifest 'many-after' is not in batch 'many', which owns all ids that begin with 'many-'; rename one",
      ],
    ],
    [
      'a single manifest that is called like an item of a batch with a dash in its name',
      (scheduler) =>
        scheduler.scheduleMany(plain, 'many-more', items('a'), every.hours(1)).schedule(plain, 'many-more-b', {}, every.hours(1)),
      ["manifest 'many-more-b' is not in batch 'many-more', which owns all ids that begin with 'many-more-'; rename one"],
    ],
    [
      'names that are no text',
      (scheduler) =>
        scheduler
          .scheduleMany(plain, undefined as never, [], every.hours(1))
          .schedule(plain, undefined as never, {}, every.hours(1), { group: 'g' }),
      [
        "batch name 'undefined' must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit",
        "manifest 'undefined': its id must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit",
      ],
    ],
    [
      'a batch that names parents for its items',
      (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).includeMany(plain, 'many', [], { dependsOn: 'root' } as never),
      ["batch 'many': dependsOn is not for a batch; say it of each item"],
    ],
    [
      'a misspelt option of an item',
      (scheduler) => scheduler.scheduleMany(plain, 'many', [{ id: 'a', input: {}, prioirty: 1 } as never], every.hours(1)),
      ["manifest 'many-a': option 'prioirty' does not exist; did you mean 'priority'?"],
    ],
    [
      'items of includeMany that have no root to hang below, once for all',
      (scheduler) => scheduler.scheduleMany(plain, 'many', items('a'), every.hours(1)).includeMany(plain, 'below', items('a', 'b', 'c')),
      [
        "manifest 'below-a' and 2 others of batch 'below': it follows the batch 'many', which is many manifests: name its parents in 'dependsOn', for example 'many-<id>'",
      ],
    ],
    [
      'items of thenIncludeMany that name no parents, also below a single root',
      (scheduler) => scheduler.schedule(plain, 'root', {}, every.hours(1)).thenIncludeMany(plain, 'below', items('a', 'b') as never),
      [
        "manifest 'below-a' and another of batch 'below': it names no parents; every item of 'thenIncludeMany' says in 'dependsOn' what it runs after",
      ],
    ],
    [
      'options of the batch once, however many items it has',
      (scheduler) => scheduler.scheduleMany(plain, 'many', items('a', 'b', 'c'), every.seconds(0), { priority: 99, mode: 'any' } as never),
      [
        expect.stringMatching(/^manifest 'many-a' and 2 others of batch 'many': option 'mode' is not for a timed manifest/),
        expect.stringMatching(/^manifest 'many-a' and 2 others of batch 'many': interval is invalid/),
        "manifest 'many-a' and 2 others of batch 'many': priority must be a whole number from 0 to 31, got 99",
      ],
    ],
    [
      'each wrong input by its item',
      (scheduler) =>
        scheduler.scheduleMany(
          copy,
          'many',
          [
            { id: 'a', input: { table: 1 } },
            { id: 'b', input: { table: 'b' } },
            { id: 'c', input: {} },
          ] as never,
          every.hours(1),
        ),
      [
        expect.stringMatching(/^manifest 'many-a': its input is invalid at 'table'/),
        expect.stringMatching(/^manifest 'many-c': its input is invalid at 'table'/),
      ],
    ],
  ])('%s', async (_, manifests, mistakes) => {
    expect(await mistakesOf(define(manifests))).toEqual(mistakes);
  });
});
