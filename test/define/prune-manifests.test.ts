import { describe, expect, it } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import { START, useFreshEngine, workflowNamed } from '../support/engine.ts';
import { deploy } from './use-sync.ts';

const engine = useFreshEngine();
const keep = { externalId: 'keep' };
const job = { externalId: 'job' };

type Row = Record<string, unknown>;
const manifests = (externalId: string) =>
  engine.rows<Row>(sql`select * from waybill.manifest where external_id = ${externalId} order by id`);
const entriesOf = (externalId: string) =>
  engine.rows<Row>(sql`
    select w.* from waybill.work_queue w join waybill.manifest m on m.id = w.manifest_id where m.external_id = ${externalId} order by w.id`);

/** Declares both, and brings the executions of both to where they are pending. */
async function admitBoth(): Promise<void> {
  await deploy(engine, [keep, job]);
  await engine.manage();
  await engine.dispatch();
}

describe('a manifest that is no longer declared', () => {
  it('is deleted, and its queued entries are cancelled with the reason', async () => {
    await deploy(engine, [keep, job]);
    await engine.manage();
    expect(await deploy(engine, [keep])).toMatchObject({ pruned: ['job'], unchangedCount: 1 });
    expect(await manifests('job')).toMatchObject([{ deleted_at: new Date(START), retiring_at: null, next_due_at: null }]);
    expect(await entriesOf('job')).toMatchObject([
      { status: 'cancelled', cancelled_at: new Date(START), cancel_reason: 'the manifest is no longer declared' },
    ]);
    expect(await entriesOf('keep')).toMatchObject([{ status: 'queued' }]);
    expect(await deploy(engine, [keep])).toMatchObject({ pruned: [] });
  });

  it('is never queued or admitted again', async () => {
    await deploy(engine, [keep, job]);
    await deploy(engine, [keep]);
    engine.clock.advance(3600);
    await engine.manage();
    await engine.dispatch();
    expect(await entriesOf('job')).toEqual([]);
  });

  it('retires while it runs, and goes with its run', async () => {
    await admitBoth();
    await deploy(engine, [keep]);
    expect(await manifests('job')).toMatchObject([{ deleted_at: null, retiring_at: new Date(START), next_due_at: null }]);
    engine.clock.advance(3600);
    await engine.manage();
    expect(await entriesOf('job')).toHaveLength(1);
    await engine.deliver();
    expect(await manifests('job')).toMatchObject([{ deleted_at: new Date('2026-03-02T01:00:00Z'), success_count: 1, next_due_at: null }]);
    expect(await manifests('keep')).toMatchObject([{ deleted_at: null, success_count: 1 }]);
  });

  it('goes with its run although that failed: no further attempt is made', async () => {
    await admitBoth();
    await deploy(engine, [keep]);
    const ended = await engine.deliver([workflowNamed('work', () => Promise.reject(new Error('no')))]);
    expect(new Map(ended.map(({ externalId, next }) => [externalId, next]))).toEqual(
      new Map([
        ['keep', 'retry'],
        ['job', null],
      ]),
    );
    expect(await manifests('job')).toMatchObject([{ deleted_at: new Date(START) }]);
    expect((await entriesOf('job')).filter(({ status }) => status === 'queued')).toEqual([]);
    expect((await entriesOf('keep')).filter(({ status }) => status === 'queued')).toHaveLength(1);
  });

  it('is revived by being declared again while it retires, and goes on as if nothing had been', async () => {
    await admitBoth();
    await deploy(engine, [keep]);
    expect(await deploy(engine, [keep, job])).toMatchObject({ created: [], changed: ['job'], pruned: [] });
    expect(await manifests('job')).toMatchObject([{ deleted_at: null, retiring_at: null }]);
    await engine.deliver();
    engine.clock.advance(60);
    await engine.manage();
    expect(await manifests('job')).toMatchObject([{ deleted_at: null, success_count: 1 }]);
    expect(await entriesOf('job')).toMatchObject([{ status: 'dispatched' }, { status: 'queued' }]);
  });

  it('is another one when it is declared again after it was deleted', async () => {
    await deploy(engine, [keep, job]);
    await engine.manage();
    await deploy(engine, [keep]);
    engine.clock.advance(5);
    expect(await deploy(engine, [keep, job])).toMatchObject({ created: ['job'] });
    expect(await manifests('job')).toMatchObject([
      { deleted_at: new Date(START) },
      { deleted_at: null, next_due_at: new Date('2026-03-02T00:00:05Z') },
    ]);
  });

  it('goes, with its run recorded, when that ends at the same moment', async () => {
    await admitBoth();
    const [retiring] = await Promise.all([deploy(engine, [keep]), engine.deliver()]);
    expect(retiring.pruned).toEqual(['job']);
    const [row] = await manifests('job');
    expect(row).toMatchObject({ deleted_at: new Date(START), success_count: 1 });
  });
});

it('an app that declares nothing prunes nothing', async () => {
  await deploy(engine, [keep, job]);
  expect(await deploy(engine, [])).toMatchObject({ pruned: [], unchangedCount: 0 });
  expect(await manifests('job')).toMatchObject([{ deleted_at: null }]);
});

describe('another owner’s manifests', () => {
  it('are neither pruned nor touched', async () => {
    await deploy(engine, [{ externalId: 'theirs' }], { owner: 'other' });
    const before = await manifests('theirs');
    expect(await deploy(engine, [keep])).toMatchObject({ pruned: [] });
    expect(await manifests('theirs')).toEqual(before);
  });

  it('cannot be taken over by declaring them: the deployment is refused as a whole', async () => {
    await deploy(engine, [{ externalId: 'theirs' }, { externalId: 'also-theirs' }], { owner: 'other' });
    await deploy(engine, [keep]);
    const deploying = deploy(engine, [{ externalId: 'new' }, { externalId: 'theirs', priority: 9 }, { externalId: 'also-theirs' }]);
    await expect(deploying).rejects.toMatchObject({
      code: 'foreign_manifest',
      message:
        "app 'test' declares manifests of another owner: 'also-theirs' belongs to 'other', 'theirs' belongs to 'other'. Choose other ids, or remove them there first",
    });
    expect(await manifests('new')).toEqual([]);
    expect(await manifests('theirs')).toMatchObject([{ owner: 'other', priority: 0 }]);
    expect(await manifests('keep')).toMatchObject([{ deleted_at: null }]);
  });

  it('are free to be declared by anybody once they are deleted', async () => {
    await deploy(engine, [{ externalId: 'theirs' }, { externalId: 'rest' }], { owner: 'other' });
    await deploy(engine, [{ externalId: 'rest' }], { owner: 'other' });
    expect(await deploy(engine, [{ externalId: 'theirs' }])).toMatchObject({ created: ['theirs'] });
  });
});
