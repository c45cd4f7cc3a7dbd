import type pg from 'pg';

type Columns = Record<string, unknown>;

/** As much of a pool as planting needs. */
interface Ground {
  query(text: string, values?: unknown[]): Promise<pg.QueryResult>;
}

/** Writes rows as the scheduler would leave them; a test states only the columns that matter to it. */
export function plantIn(pool: Ground) {
  async function insert(table: string, columns: Columns): Promise<string> {
    const names = Object.keys(columns);
    const holes = names.map((_, index) => `$${index + 1}`);
    const text = `insert into waybill.${table} (${names.join(', ')}) values (${holes.join(', ')}) returning id::text`;
    const { rows } = await pool.query(text, Object.values(columns));
    return rows[0].id;
  }

  async function group(name: string): Promise<string> {
    const { rows } = await pool.query(
      'insert into waybill.manifest_group (name) values ($1) on conflict (name) do update set name = excluded.name returning id::text',
      [name],
    );
    return rows[0].id;
  }

  async function manifest(
    externalId: string,
    { group: groupName = 'etl', ...columns }: Columns & { group?: string } = {},
  ): Promise<string> {
    return insert('manifest', {
      external_id: externalId,
      workflow_name: 'extract',
      group_id: await group(groupName),
      owner: 'test',
      schedule_type: 'none',
      ...columns,
    });
  }

  /** A first attempt at the top, unless the columns say otherwise: its run and root ids are its own. */
  async function execution(columns: Columns = {}): Promise<string> {
    const id = await insert('execution', { group_id: 1, root_id: 0, run_id: 0, origin: 'manual', initiator_type: 'user', ...columns });
    await pool.query(
      'update waybill.execution set root_id = case root_id when 0 then id else root_id end, run_id = case run_id when 0 then id else run_id end where id = $1',
      [id],
    );
    return id;
  }

  return {
    manifest,
    execution,
    group,
    entry: (columns: Columns) => insert('work_queue', { group_id: 1, origin: 'manual', initiator_type: 'user', ...columns }),
    deadLetter: (columns: Columns) => insert('dead_letter', { run_id: 1, input: {}, reason: 'exhausted', failed_count: 3, ...columns }),
    step: (columns: Columns) =>
      insert('execution_step', { sequence: 0, state: 'completed', started_at: new Date(), finished_at: new Date(), ...columns }),
    edge: (childId: string, parentId: string) =>
      pool.query('insert into waybill.manifest_dependency (child_id, parent_id) values ($1, $2)', [childId, parentId]),
  };
}

/** What an execution in progress cannot do without. */
export const lease = { lease_token: '00000000-0000-4000-8000-000000000001', lease_expires_at: new Date('2100-01-01T00:00:00Z') };
