import { expect, it } from 'vitest';
import type { ManifestDefinition } from '../../shared/define/definition.ts';
import { findManifestMistakes } from '../../shared/define/find-manifest-mistakes.ts';

const manifest: ManifestDefinition = { externalId: 'job', workflow: 'work', input: {}, group: 'g', schedule: { type: 'none' } };

it('a manifest is judged by itself, whoever declares it', () => {
  expect(findManifestMistakes(manifest)).toEqual([]);
  expect(findManifestMistakes({ ...manifest, schedule: { type: 'dependent', dependsOn: ['anything'], mode: 'all' } })).toEqual([]);
});

it.each<[ManifestDefinition['schedule']]>([
  [{ type: 'none' }],
  [{ type: 'once', runAt: '2026-12-24T18:00:00Z' }],
  [{ type: 'dependent', dependsOn: ['a'], mode: 'all' }],
  [{ type: 'dormant_dependent', dependsOn: ['a'], mode: 'all' }],
])('only what repeats can be late, be spread or be left out: %j', (schedule) => {
  const lateness = { misfire: { policy: 'skip' }, misfireThresholdSeconds: 1, jitterSeconds: 1, exclusions: [] } as const;
  expect(findManifestMistakes({ ...manifest, ...lateness, exclusions: [], schedule })).toEqual(
    ['misfire', 'misfireThresholdSeconds', 'jitterSeconds', 'exclusions'].map(
      (field) => `${field} is only for manifests that run by cron or interval; this one is of type '${schedule.type}'`,
    ),
  );
});

it('every mistake is told at once', () => {
  const mistakes = findManifestMistakes({
    ...manifest,
    externalId: '-',
    schedule: { type: 'cron', expression: '* * *', timeZone: 'Mars' },
    misfire: { policy: 'fire_twice' as never },
    pool: '',
    priority: 99,
    group: '',
  });
  expect(mistakes).toEqual([
    expect.stringMatching(/^its id must be/),
    expect.stringMatching(/^cron expression '\* \* \*' is invalid: it must have 5 fields/),
    expect.stringMatching(/^time zone 'Mars' is invalid/),
    'priority must be a whole number from 0 to 31, got 99',
    "misfire must be 'fire_once', 'skip' or 'fire_all', got 'fire_twice'",
    "pool '' must be 1 to 32 lower-case letters, digits and dashes, beginning with a letter",
    "group name '' must be 1 to 200 characters",
  ]);
});
