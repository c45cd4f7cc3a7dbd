import type { Db } from '../database.ts';
import { sql } from '../sql.ts';

export interface HealthRow {
  now: Date;
  schema: string | null;
  last_cycle_at: Date | null;
}

/** What the scheduler last did and which schema it stands on. It always answers one row. */
export async function selectHealth(db: Db): Promise<HealthRow> {
  const [row] = await db.query<HealthRow>(sql`
    select waybill.now() as now,
      (select max(name) from waybill.migration) as schema,
      (select last_cycle_at from waybill.scheduler_state) as last_cycle_at`);
  if (!row) throw new Error('postgres answered a select without from with no row');
  return row;
}
