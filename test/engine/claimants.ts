import { sql } from '../../shared/db/sql.ts';
import { NonRetryableError } from '../../shared/errors.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { retryDeadLetter } from '../../shared/operations/resolve-dead-letter.ts';
import { type Trigger, trigger } from '../../shared/operations/trigger.ts';
import { cronAt, type Declared, following, none, type World } from './use-world.ts';

/** Everybody who may want a manifest's place in the queue. */
export const claimants = [
  'tick',
  'dependency',
  'activation',
  'retry',
  'trigger',
  'trigger with input',
  'delayed trigger',
  'delayed trigger with input',
  'dead-letter retry',
  'fire_all',
  'backfill',
] as const;
export type Claimant = (typeof claimants)[number];

export interface Pair {
  first: Claimant;
  second: Claimant;
  externalId: string;
}

/** The two instants at which claims are made: late enough for a fire_all to have missed three occurrences before each. */
const CLAIMS = [
  { minute: 4, missed: '1,2,3' },
  { minute: 14, missed: '11,12,13' },
] as const;

/**
 * Makes both claims of every pair, each on a manifest of its own, in one world: a pair's place is nobody else's business, and the steps are taken for all pairs
 * together. Nothing is admitted in between but what a claim itself needs.
 */
export async function claimInPairs(world: World, pairs: Pair[]): Promise<{ refused: Map<string, string> }> {
  const refused = new Map<string, string>();
  const schedules = new Map<string, Partial<Declared>>(pairs.map(({ externalId }) => [externalId, { schedule: none }]));
  const failing = new Map<string, 'again' | 'finally'>();
  world.behaviour = ({ execution }) => {
    const how = failing.get(execution.manifest!);
    if (how === 'again') throw new Error('again');
    if (how === 'finally') throw new NonRetryableError('finally');
    return 'done';
  };
  const deploy = () =>
    world.sync([
      { externalId: 'parent', schedule: none },
      ...pairs.map(({ externalId }) => ({
        externalId,
        input: { from: 'manifest' },
        maxAttempts: 5,
        backoff: { initialSeconds: 3_600, jitter: 0 },
        ...schedules.get(externalId),
      })),
    ]);
  const involving = (...ones: Claimant[]) => pairs.filter(({ first, second }) => ones.includes(first) || ones.includes(second));
  const ask = async (externalId: string, request: Partial<Trigger>) => {
    try {
      await trigger(world.context, { externalId, ...request });
    } catch (error) {
      refused.set(externalId, (error as { code: string }).code);
    }
  };

  /** Admits what waits for these and nobody else, however long it would have to wait. */
  async function admitOnly(ids: string[]) {
    await world.database.query(sql`update waybill.manifest_group set is_enabled = name = any(${ids}::text[])`);
    await world.database.query(sql`
      update waybill.work_queue w set available_at = waybill.now() from waybill.manifest m
       where m.id = w.manifest_id and m.external_id = any(${ids}::text[]) and w.status = 'queued' and w.lane = 'retry'`);
    await world.dispatch();
    await world.database.query(sql`update waybill.manifest_group set is_enabled = true`);
  }
  /** Runs what of these is live, to the end that is asked for. */
  async function end(ids: string[], how?: 'again' | 'finally') {
    for (const id of ids) if (how) failing.set(id, how);
    const live = await world.rows<{ id: ExecutionId }>(sql`
      select e.id from waybill.execution e join waybill.manifest m on m.id = e.manifest_id
       where m.external_id = any(${ids}::text[]) and e.finished_at is null order by e.id`);
    await world.execute(live.map(({ id }) => id));
    failing.clear();
  }
  async function plant(ids: string[], origin: 'activation' | 'backfill', occurrenceAt: string | null) {
    await world.database.query(sql`
      insert into waybill.work_queue (workflow_name, input, is_input_given, manifest_id, group_id, lane, origin, occurrence_at, max_attempts, initiator_type)
      select workflow_name, jsonb_build_object('from', ${origin}::text), true, id, group_id, ${origin === 'backfill' ? 'series' : 'fresh'}, ${origin}, ${occurrenceAt}, 5, 'system'
        from waybill.manifest where external_id = any(${ids}::text[])
          on conflict do nothing`);
  }

  await deploy();
  await trigger(world.context, { externalId: 'parent' });
  await admitOnly(['parent']);
  await end(['parent']);
  // A retry needs a run that is under way, a dead letter's retry one that has failed for good.
  const dead = involving('dead-letter retry').filter(({ first, second }) => first !== 'retry' && second !== 'retry');
  const live = involving('retry').filter(({ first }) => first !== 'dead-letter retry');
  const deadBeforeLive = pairs.filter(({ first, second }) => first === 'dead-letter retry' && second === 'retry');
  const begun = [...dead, ...live, ...deadBeforeLive].map(({ externalId }) => externalId);
  for (const id of begun) await trigger(world.context, { externalId: id, input: { from: 'first run' } });
  await admitOnly(begun);
  await end(
    [...dead, ...deadBeforeLive].map(({ externalId }) => externalId),
    'finally',
  );

  for (const [index, { minute, missed }] of CLAIMS.entries()) {
    const claiming = (one: Claimant) =>
      pairs.filter((pair) => (index === 0 ? pair.first : pair.second) === one).map(({ externalId }) => externalId);
    const isSecondOf = (one: Claimant) => (id: string) => index === 1 && pairs.some((pair) => pair.externalId === id && pair.first === one);
    for (const id of claiming('tick')) schedules.set(id, { schedule: cronAt(`${minute} 0 2 3 *`) });
    for (const id of claiming('fire_all'))
      schedules.set(id, { schedule: cronAt(`${missed} 0 2 3 *`), misfire: { policy: 'fire_all', limit: 3 } });
    for (const id of claiming('dependency')) schedules.set(id, { schedule: following('parent') });
    await deploy();
    world.clock.set(world.at(`00:${String(minute).padStart(2, '0')}:00`));
    if (index === 1) {
      // A second claim by the parent's success needs a second success.
      await trigger(world.context, { externalId: 'parent' });
      await admitOnly(['parent']);
      await end(['parent']);
    }
    await plant(claiming('activation'), 'activation', null);
    await plant(claiming('backfill'), 'backfill', `2026-01-0${index + 1}T00:00:00Z`);
    await plant(claiming('backfill'), 'backfill', `2026-01-1${index + 1}T00:00:00Z`);
    for (const id of claiming('trigger')) await ask(id, {});
    for (const id of claiming('trigger with input')) await ask(id, { input: { from: `input ${index + 1}` } });
    for (const id of claiming('delayed trigger')) await ask(id, { delaySeconds: 7_200 });
    for (const id of claiming('delayed trigger with input')) await ask(id, { input: { from: `input ${index + 1}` }, delaySeconds: 7_200 });
    // A run whose retry waits, or was asked for, has to be under way again before it can fail again.
    const again = [...claiming('retry').filter((id) => isSecondOf('retry')(id) || isSecondOf('dead-letter retry')(id))];
    const deadAgain = [...claiming('dead-letter retry').filter((id) => isSecondOf('dead-letter retry')(id) || isSecondOf('retry')(id))];
    await admitOnly([...again, ...deadAgain]);
    await end(deadAgain, 'finally');
    await end(claiming('retry'), 'again');
    for (const id of claiming('dead-letter retry')) await retryDeadLetter(world.context, (await world.awaiting(id)).id);
    await world.manage();
  }
  return { refused };
}
