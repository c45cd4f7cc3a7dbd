import { expect, it } from 'vitest';
import { z } from 'zod';
import { every, handle, type ParentReference, type Scheduler, workflow } from '../../shared/index.ts';
import { copy, define, mistakesOf, parentsOf, plain } from './use-mistakes.ts';

const elsewhere = workflow({ name: 'elsewhere', input: z.unknown(), run: () => null });

/** A dependent of this parent, in an app with two manifests and a batch. */
const below = (dependsOn: ParentReference) => (scheduler: Scheduler) => {
  scheduler
    .schedule(plain, 'extract-data', {}, every.hours(1))
    .schedule(plain, 'copy-1', {}, every.hours(1))
    .scheduleMany(plain, 'delta', [{ id: 'orders', input: {} }], every.hours(1))
    .include(plain, 'below', {}, { dependsOn });
};

it.each<[string, ParentReference]>([
  ['an id that resembles none of this app', 'somebody-elses'],
  ['an id that differs from one of this app in its number alone', 'copy-2'],
  ['a short id, of which every other would be a misspelling', 'xyz'],
  ['a handle of a workflow that this app does not have', handle(elsewhere, 'extract-dat')],
  ['a reference that says nothing of its workflow', { externalId: 'extract-dat' }],
])('a parent may belong to another app: %s', async (_, parent) => {
  const definition = await define(below(parent));
  expect(parentsOf(definition).below).toEqual([typeof parent === 'string' ? parent : parent.externalId]);
});

it.each<[string, ParentReference, string]>([
  [
    'a misspelt id',
    'extarct-data',
    "its parent 'extarct-data' does not exist; did you mean 'extract-data'? If it belongs to another app, say { externalId: 'extarct-data' }",
  ],
  ['an item that its batch does not have', 'delta-users', "its parent 'delta-users' does not exist: batch 'delta' has no such item"],
  [
    'a misspelt item, whoever says so',
    { externalId: 'delta-order' },
    "its parent 'delta-order' does not exist: batch 'delta' has no such item; did you mean 'delta-orders'?",
  ],
  [
    "a handle of this app's own workflow",
    handle(plain, 'extrct-data'),
    "its parent 'extrct-data' does not exist; did you mean 'extract-data'?",
  ],
  [
    "a handle of this app's own workflow that resembles nothing",
    handle(plain, 'nowhere'),
    "its parent 'nowhere' does not exist; correct 'dependsOn' or declare it",
  ],
  ['what can be no id', { externalId: 'a b' }, "its parent 'a b' does not exist; correct 'dependsOn' or declare it"],
  [
    'a handle of another workflow than the manifest runs',
    handle(copy, 'extract-data'),
    "its parent 'extract-data' runs workflow 'plain', but the handle is of workflow 'copy'",
  ],
])('refuses a parent that cannot exist: %s', async (_, parent, mistake) => {
  expect(await mistakesOf(define(below(parent)))).toEqual([`manifest 'below': ${mistake}`]);
});

it('reports each parent that does not exist', async () => {
  const mistakes = await mistakesOf(
    define((scheduler) =>
      scheduler
        .scheduleMany(plain, 'delta', [{ id: 'a', input: {} }], every.hours(1))
        .include(plain, 'one', {}, { dependsOn: ['delta-b', 'delta-a', 'delta-c'] })
        .include(plain, 'two', {}, { dependsOn: 'delta-b' }),
    ),
  );
  expect(mistakes).toEqual([
    "manifest 'one': its parent 'delta-b' does not exist: batch 'delta' has no such item; did you mean 'delta-a'?",
    "manifest 'one': its parent 'delta-c' does not exist: batch 'delta' has no such item; did you mean 'delta-a'?",
    "manifest 'two': its parent 'delta-b' does not exist: batch 'delta' has no such item; did you mean 'delta-a'?",
  ]);
});
