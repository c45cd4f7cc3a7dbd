import { type Sql, sql } from '../sql.ts';

/**
 * The name under which the joined group `g` is measured. Each one is paid for as a metric, so the thirty oldest have their own and the rest share one. The bound is a
 * subquery without outer references, so a statement reads it once, however many rows it has: as a function it was called per row and cost 27 µs each time.
 */
export const metricGroup: Sql = sql`
  case when g.id <= (select max(o.id) from (select id from waybill.manifest_group order by id limit 30) o) then g.name else 'other' end`;
