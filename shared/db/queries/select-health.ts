import type { Db } from '../database.ts';
import { sql } from '../sql.ts';

export interface HealthRow {
  now: Date;
  schema: string | null;
  last_cycle_at: Date | null;
  last_cycle: Record<string, number> | null;
}

/** What the scheduler last did and which schema it stands on. It always answers one row. */
export async function selectHealth(db: Db): Promise<HealthRow> {
  const [row] = await db.query<HealthRow>(sql`
    select waybill.now() as now,
      (select max(name) from waybill.migration) as schema,
      s.last_cycle_at, s.last_cycle
    from waybill.scheduler_state s`);
  if (!row) throw new Error('waybill.scheduler_state has lost its one row');
  return row;
}
