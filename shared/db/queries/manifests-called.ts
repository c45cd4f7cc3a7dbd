import { type Sql, sql } from '../sql.ts';

/**
 * The ids of the manifests that are or were called so, as an array: history outlives its declaration. In two halves, because one external id is unique only among
 * manifests that are not deleted, and the first half has that index; the second reads the few that are deleted and not yet removed.
 */
export function manifestsCalled(externalId: string | null): Sql {
  return sql`array(
    select id from waybill.manifest where external_id = ${externalId} and deleted_at is null
    union all
    select id from waybill.manifest where external_id = ${externalId} and deleted_at is not null)`;
}
