import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * The transaction that marks an entry dispatched inserts its execution, or makes the waiting one pending. An entry without is an intent that was
 * lost. Reads the newest ten thousand entries of the last day: retention, which removes executions before their entries, is longer.
 */
export const dispatchedEntryHasItsExecution: Invariant = {
  name: 'a_dispatched_entry_has_its_execution',
  kind: 'always',
  statement: sql`
    select 'entry ' || w.id as subject, format('dispatched at %s without an execution', w.dispatched_at) as detail
      from (
        select id, status, execution_id, dispatched_at from waybill.work_queue
         where status <> 'queued' and created_at > waybill.now() - interval '1 day'
         order by created_at desc limit 10000
      ) w
     where w.status = 'dispatched'
       and not exists (select from waybill.execution e where e.work_queue_id = w.id)
       and not exists (select from waybill.execution e where e.id = w.execution_id)
     order by w.id limit 100`,
};
