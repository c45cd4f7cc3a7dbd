import { LONGEST_TRANSACTION_SECONDS } from '../begin.ts';
import { sql } from '../sql.ts';
import type { Invariant } from './invariant.ts';

/**
 * Nothing of a manifest is admitted while its dead letter awaits a person. The transaction that ended the failing run wrote the dead letter, so
 * every execution with a later id was admitted under it. A dead letter that was written later, because somebody lowered the attempts, may find a
 * run that was admitted meanwhile; that one counts only if it is clearly younger. Reads the awaiting dead letters and probes unfinished executions.
 */
export const deadLetterBlocks: Invariant = {
  name: 'an_awaiting_dead_letter_blocks_its_manifest',
  kind: 'always',
  statement: sql`
    select 'execution ' || e.id as subject,
           format('admitted at %s although dead letter %s of manifest %s awaits since %s', e.created_at, d.id, d.manifest_id, d.created_at) as detail
      from waybill.dead_letter d
      join waybill.execution e on e.manifest_id = d.manifest_id and e.parent_id is null and e.finished_at is null and e.manifest_id is not null
      left join waybill.execution f on f.id = d.execution_id
     where d.status = 'awaiting_intervention' and d.manifest_id is not null and e.id > d.execution_id
       and (f.finished_at = d.created_at or e.created_at > d.created_at + make_interval(secs => ${LONGEST_TRANSACTION_SECONDS}))
     order by e.id limit 100`,
};
