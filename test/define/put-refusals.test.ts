import { describe, expect, it } from 'vitest';
import { putManifests } from '../../shared/define/put-manifests.ts';
import { START } from '../support/engine.ts';
import { job, useRuntime } from './use-runtime.ts';

const { engine, contextOf, put, manifest } = useRuntime();

describe('is refused, and nothing of the request is kept:', () => {
  it.each<[string, unknown, string, string]>([
    ['no object', 7, 'invalid_manifest', "manifest 'undefined': it must be an object, got 7"],
    [
      'an id with a space',
      job('a b'),
      'invalid_manifest',
      "manifest 'a b': its id must be 1 to 200 characters, letters, digits and '._:-', beginning with a letter or digit",
    ],
    [
      'no workflow',
      { externalId: 'job', schedule: { type: 'none' } },
      'invalid_manifest',
      "manifest 'job': its workflow undefined must be 1 to 200 characters",
    ],
    [
      'no schedule',
      { externalId: 'job', workflow: 'work' },
      'invalid_manifest',
      "manifest 'job': its schedule must be an object with a type of cron, interval, once, dependent, dormant_dependent, none, got undefined",
    ],
    ['an unknown schedule', job('job', { schedule: { type: 'hourly' } as never }), 'invalid_manifest', "got type 'hourly'"],
    [
      'a schedule with another’s field',
      job('job', { schedule: { type: 'once', runAt: START, timeZone: 'UTC' } as never }),
      'invalid_manifest',
      "manifest 'job': schedule.timeZone is not for a schedule of type 'once'; allowed are runAt",
    ],
    [
      'a bad cron',
      job('job', { schedule: { type: 'cron', cron: '61 * * * *' } }),
      'invalid_manifest',
      "manifest 'job': cron expression '61 * * * *' is invalid: minute",
    ],
    [
      'a cron that is no text',
      job('job', { schedule: { type: 'cron', cron: 7 } as never }),
      'invalid_manifest',
      "manifest 'job': cron expression must be a text, got 7",
    ],
    [
      'an unknown zone',
      job('job', { schedule: { type: 'cron', cron: '* * * * *', timeZone: 'Europe/Lundon' } }),
      'invalid_manifest',
      "did you mean 'Europe/London'?",
    ],
    [
      'an interval of nothing',
      job('job', { schedule: { type: 'interval', intervalSeconds: 0 } }),
      'invalid_manifest',
      "manifest 'job': interval is invalid",
    ],
    [
      'an instant that is no text',
      job('job', { schedule: { type: 'once', runAt: 5 } as never }),
      'invalid_manifest',
      "manifest 'job': schedule.runAt must be an instant as text, got 5",
    ],
    [
      'an instant that does not exist',
      job('job', { schedule: { type: 'once', runAt: '2026-02-30T00:00:00Z' } }),
      'invalid_manifest',
      "manifest 'job': instant '2026-02-30T00:00:00Z' is invalid",
    ],
    [
      'a once with misfires',
      job('job', { schedule: { type: 'once', runAt: START }, misfire: 'skip' }),
      'invalid_manifest',
      "manifest 'job': misfire is only for manifests that run by cron or interval",
    ],
    [
      'no parents',
      job('job', { schedule: { type: 'dependent', dependsOn: [] } }),
      'invalid_manifest',
      "manifest 'job': it depends on nothing",
    ],
    [
      'a parent that is no id',
      job('job', { schedule: { type: 'dependent', dependsOn: ['a\0b'] } }),
      'invalid_manifest',
      "manifest 'job': schedule.dependsOn must be an id or a list of ids, got 'a\0b'",
    ],
    [
      'an unknown parent',
      job('job', { schedule: { type: 'dependent', dependsOn: 'nobody' } }),
      'unknown_parent',
      "'job' depends on 'nobody'",
    ],
    [
      'itself as parent',
      job('job', { schedule: { type: 'dependent', dependsOn: 'job' } }),
      'circular_dependency',
      'circular dependency detected among manifests: job → job',
    ],
    [
      'an unknown option',
      { ...job('job'), prioirty: 1 },
      'invalid_manifest',
      "manifest 'job': option 'prioirty' does not exist; did you mean 'priority'?",
    ],
    [
      'a priority beyond its range',
      job('job', { priority: 32 }),
      'invalid_manifest',
      "manifest 'job': priority must be a whole number from 0 to 31, got 32",
    ],
    [
      'a group without capacity',
      job('job', { group: { maxActiveJobs: 0 } }),
      'invalid_manifest',
      "manifest 'job': group.maxActiveJobs must be a whole number from 1 to 1000000, got 0",
    ],
    [
      'an input that cannot be stored',
      job('job', { input: { text: 'a\0b' } }),
      'invalid_manifest',
      "manifest 'job': its input cannot be stored",
    ],
    [
      'an input of two megabytes',
      job('job', { input: 'x'.repeat(2 * 1024 * 1024) }),
      'invalid_manifest',
      "manifest 'job': its input cannot be stored: it is 2097154 bytes",
    ],
    [
      'an unknown workflow',
      job('job', { workflow: 'unknown' }),
      'workflow_not_found',
      "manifest 'job': workflow 'unknown' is not deployed. GET /v1/workflows lists those that are",
    ],
    [
      'an app’s manifest',
      job('of-the-app'),
      'foreign_manifest',
      "manifest 'of-the-app' belongs to app 'test': change it there, or choose another id",
    ],
  ])('%s', async (_, given, code, message) => {
    await expect(put(job('innocent'), given)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(await manifest('innocent')).toBeUndefined();
    expect(engine.doorbell.managerPokes).toEqual([]);
  });

  it('two of one id, and two opinions on one group', async () => {
    await expect(put(job('job', { group: { name: 'g', priority: 1 } }), job('job', { group: { name: 'g', priority: 2 } }))).rejects.toThrow(
      "manifest 'job' is given twice; ids must be unique; group 'g': priority is stated as 1 and as 2; state it once",
    );
  });

  it.each([[[]], ['all'], [Array.from({ length: 5_001 }, (_, index) => job(`job-${index}`))]])(
    '%# no list, none, or more than 5,000',
    async (given) => {
      await expect(putManifests(contextOf(), given)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(/^1 to 5000 manifests go into one request, got (0|no list|5001)$/),
      });
    },
  );

  it('more mistakes than anybody reads are counted', async () => {
    const many = Array.from({ length: 30 }, (_, index) => job(`job-${index}`, { priority: 99 }));
    await expect(put(...many)).rejects.toThrow(/; and 10 more$/);
  });
});
