import type pg from 'pg';
import type { Db } from '../../shared/db/database.ts';

export type Columns = Record<string, unknown>;

/** The instant at which every world of these tests is looked at. */
export const NOW = new Date('2026-03-02T12:00:00Z');
export const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
export const ahead = (seconds: number) => ago(-seconds);

/** What an execution in progress cannot do without. */
export const lease = () => ({ lease_token: '00000000-0000-4000-8000-000000000001', lease_expires_at: ahead(45) });

/** What a step at a place of a plan's execution needs. */
export const stepOf =
  (planId: number) =>
  (groupIndex: number, position: number): Columns => ({
    parent_id: planId,
    root_id: planId,
    origin: 'plan',
    group_index: groupIndex,
    position,
    step_name: `step ${groupIndex}.${position}`,
  });

/** Rows inside a transaction that is rolled back, with the constraints dropped that forbid them: a world of a test's own. */
export interface World extends Db {
  group(columns?: Columns): Promise<number>;
  manifest(columns?: Columns): Promise<number>;
  /** A manifest that runs after these parents. */
  dependent(parents: { id: number; consumed?: number }[], columns?: Columns): Promise<number>;
  entry(columns?: Columns): Promise<number>;
  /** A first attempt at the top without an entry, unless the columns say otherwise. */
  execution(columns?: Columns): Promise<number>;
  /** An execution that was admitted through an entry of its own, and so holds a slot while it is live. */
  admitted(columns?: Columns): Promise<{ id: number; entryId: number }>;
  deadLetter(columns: Columns): Promise<number>;
  run(text: string, values?: unknown[]): Promise<void>;
}

export async function inWorld<Result>(pool: pg.Pool, act: (world: World) => Promise<Result>, end: 'commit' | 'rollback'): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('select set_config($1, $2, true)', ['waybill.now', NOW.toISOString()]);
    const result = await act(createWorld(client));
    await client.query(end);
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

function createWorld(client: pg.PoolClient): World {
  let names = 0;
  const name = (kind: string) => `${kind}-${process.hrtime.bigint()}-${++names}`;

  async function insert(table: string, columns: Columns): Promise<number> {
    const keys = Object.keys(columns);
    const holes = keys.map((_, index) => `$${index + 1}`);
    const { rows } = await client.query(
      `insert into waybill.${table} (${keys.join(', ')}) overriding system value values (${holes.join(', ')}) returning id`,
      Object.values(columns),
    );
    return Number(rows[0].id);
  }

  const world: World = {
    query: async ({ text, values }) => (await client.query(text, values as unknown[])).rows,
    run: async (text, values) => {
      await client.query(text, values);
    },
    group: (columns = {}) =>
      insert('manifest_group', { name: name('group'), created_at: ago(86_400), updated_at: ago(86_400), ...columns }),
    manifest: async (columns = {}) =>
      insert('manifest', {
        external_id: name('manifest'),
        kind: 'job',
        workflow_name: columns.kind === 'plan' ? null : 'work',
        group_id: columns.group_id ?? (await world.group()),
        owner: 'test',
        schedule_type: 'none',
        created_at: ago(86_400),
        updated_at: ago(86_400),
        ...columns,
      }),
    dependent: async (parents, columns) => {
      const id = await world.manifest({ schedule_type: 'dependent', dependency_mode: 'all', ...columns });
      for (const parent of parents) {
        await world.run('insert into waybill.manifest_dependency (child_id, parent_id, consumed_success_count) values ($1, $2, $3)', [
          id,
          parent.id,
          parent.consumed ?? 0,
        ]);
      }
      return id;
    },
    entry: async (columns = {}) =>
      insert('work_queue', {
        workflow_name: 'work',
        group_id: columns.group_id ?? (await world.group()),
        origin: 'manual',
        initiator_type: 'user',
        ...columns,
      }),
    execution: async (columns = {}) => {
      const id = await insert('execution', {
        workflow_name: 'work',
        group_id: columns.group_id ?? (await world.group()),
        root_id: 0,
        run_id: 0,
        pool: 'default',
        origin: 'manual',
        initiator_type: 'user',
        ...columns,
      });
      await world.run(
        `update waybill.execution set root_id = case root_id when 0 then id else root_id end,
                                      run_id = case run_id when 0 then id else run_id end where id = $1`,
        [id],
      );
      return id;
    },
    admitted: async (columns = {}) => {
      const groupId = columns.group_id ?? (await world.group());
      const at = (columns.created_at as Date | undefined) ?? NOW;
      const { manifest_id = null } = columns;
      const entryId = await world.entry({ manifest_id, group_id: groupId, status: 'dispatched', created_at: at, dispatched_at: at });
      return { entryId, id: await world.execution({ group_id: groupId, work_queue_id: entryId, sent_at: at, ...columns }) };
    },
    deadLetter: (columns) => insert('dead_letter', { run_id: 1, input: {}, reason: 'exhausted', failed_count: 3, ...columns }),
  };
  return world;
}
