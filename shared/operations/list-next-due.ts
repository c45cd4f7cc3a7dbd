import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';

export interface NextDue {
  externalId: string;
  dueInSeconds: number;
}

/** The manifests that are due next, soonest first, straight from the index that the manager reads. */
export function listNextDue(db: Db, limit: number): Promise<NextDue[]> {
  return db.query<NextDue>(sql`
    select external_id as "externalId", greatest(extract(epoch from next_due_at - waybill.now()), 0)::double precision as "dueInSeconds"
      from waybill.manifest where next_due_at is not null
     order by next_due_at, id limit ${limit}`);
}
