import { type CronExpression, CronExpressionParser } from 'cron-parser';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

interface LoadedManifest {
  id: number;
  cronExpression: string | null;
  timeZone: string | null;
  intervalSeconds: number | null;
  lastSuccessfulRun: Date;
  isHeld: boolean;
}

/**
 * A STAND-IN, not a part of Waybill: how a scheduler without an index of what is due decides. It loads every manifest with its flags in one query
 * and asks cron-parser for the next run after the last one. Parsed expressions are kept, so it pays for `next()` only, and it does not write
 * what it found: both are in its favour.
 */
export async function decideByLoadingEverything(database: Database): Promise<{ loadedCount: number; dueCount: number }> {
  const now = Date.now();
  const manifests = await database.query<LoadedManifest>(sql`
    select m.id, m.cron_expression as "cronExpression", m.time_zone as "timeZone", m.interval_seconds as "intervalSeconds",
           m.last_successful_run as "lastSuccessfulRun",
           not g.is_enabled
           or exists (select from waybill.dead_letter d where d.manifest_id = m.id and d.status = 'awaiting_intervention')
           or exists (select from waybill.work_queue w where w.manifest_id = m.id and w.status = 'queued')
           or exists (select from waybill.execution e where e.manifest_id = m.id and e.finished_at is null) as "isHeld"
      from waybill.manifest m join waybill.manifest_group g on g.id = m.group_id
     where m.is_enabled and m.deleted_at is null`);
  const expressions = new Map<string, CronExpression>();
  const due = manifests.filter((manifest) => !manifest.isHeld && nextRunMs(manifest, expressions) <= now);
  return { loadedCount: manifests.length, dueCount: due.length };
}

function nextRunMs(manifest: LoadedManifest, expressions: Map<string, CronExpression>): number {
  const { cronExpression, timeZone, intervalSeconds, lastSuccessfulRun } = manifest;
  if (cronExpression === null) return lastSuccessfulRun.getTime() + intervalSeconds! * 1000;
  const key = `${cronExpression} ${timeZone}`;
  const expression = expressions.get(key) ?? CronExpressionParser.parse(cronExpression, { tz: timeZone! });
  expressions.set(key, expression);
  expression.reset(lastSuccessfulRun);
  return expression.next().getTime();
}
