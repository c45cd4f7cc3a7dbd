import { sql } from '../sql.ts';
import { GRACE_SECONDS, type Invariant } from './invariant.ts';
import { isNotHeld } from './not-held.ts';

/**
 * A schedule that has an occurrence ahead, or a once that was held, is due at it as soon as nothing holds it; otherwise it would never run again.
 * Reads all manifests once, about a second per million, because none of their indexes knows what is not due.
 */
export const noTimedManifestIsForgotten: Invariant = {
  name: 'no_timed_manifest_has_an_occurrence_and_is_forgotten',
  kind: 'eventually',
  graceSeconds: GRACE_SECONDS,
  statement: sql`
    select 'manifest ' || m.external_id as subject,
           format('its occurrence is %s, nothing holds it, and it is not due', m.next_occurrence_at) as detail
      from waybill.manifest m
     where m.next_occurrence_at is not null and m.next_due_at is null
       and greatest(m.updated_at, m.last_skip_at) < waybill.now() - make_interval(secs => ${GRACE_SECONDS})
       and ${isNotHeld}
     order by m.id limit 100`,
};
