import { startThrowawayPostgres } from '../../local/postgres/start-throwaway-postgres.ts';
import { type Database, openDatabase } from '../../shared/db/database.ts';
import { migrate } from '../../shared/db/migrate.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import { claimQueuedWork } from '../../shared/dispatcher/cycle.ts';

const pools = { default: { queueUrl: 'none', concurrency: 100_000, batchSize: 1 } };

export interface ClaimFigures {
  scene: string;
  perClaim: number;
  medianMs: number;
  worstMs: number;
  claimsPerSecond: number;
  entriesPerSecond: number;
}

interface Scene {
  name: string;
  prepare: Sql[];
}

/** Entries of runs that nobody declared, spread over groups and made available one after the other within the last hour. */
const queueEntries = (groups: string, count: number, { priority = 'random() * 31' } = {}): Sql => ({
  text: `
    insert into waybill.work_queue (workflow_name, group_id, priority, origin, available_at, initiator_type)
    select 'work', g.id, ${priority}, 'manual', waybill.now() - make_interval(secs => random() * 3600), 'system'
      from waybill.manifest_group g cross join generate_series(1, ${count}) where g.name like '${groups}'`,
  values: [],
});

const createGroups = (count: number, { maxActiveJobs = null as number | null, hasPriorities = true } = {}): Sql => sql`
  insert into waybill.manifest_group (name, max_active_jobs, priority)
  select 'group-' || n, ${maxActiveJobs}::integer, case when ${hasPriorities} then n % 32 else 0 end from generate_series(1, ${count}::integer) n`;

/** A group with all of its slots taken and a backlog that ranks before everything else. */
const fillGroup: Sql[] = [
  sql`insert into waybill.manifest_group (name, max_active_jobs, priority) values ('full', 4, 31)`,
  queueEntries('full', 100_000, { priority: '60' }),
  sql`insert into waybill.execution (root_id, run_id, group_id, pool, workflow_name, work_queue_id, origin, initiator_type)
      select w.id, w.id, w.group_id, 'default', 'work', w.id, 'manual', 'system' from waybill.work_queue w join waybill.manifest_group g on g.id = w.group_id
       where g.name = 'full' order by w.id limit 4`,
];

/** A group whose first ten thousand entries belong to dead-lettered manifests: every claim has to step over them. */
const blockGroup: Sql[] = [
  sql`insert into waybill.manifest_group (name) values ('blocked')`,
  sql`insert into waybill.manifest (external_id, workflow_name, group_id, schedule_type, owner)
      select 'blocked-' || n, 'work', g.id, 'none', 'bench' from waybill.manifest_group g cross join generate_series(1, 10000) n where g.name = 'blocked'`,
  sql`insert into waybill.dead_letter (manifest_id, execution_id, run_id, input, reason, failed_count)
      select id, id, id, '{}', 'exhausted', 3 from waybill.manifest`,
  sql`insert into waybill.work_queue (workflow_name, manifest_id, group_id, priority, origin, available_at, initiator_type)
      select 'work', m.id, m.group_id, 60, 'manual', waybill.now() - interval '2 hours', 'system' from waybill.manifest m`,
  queueEntries('blocked', 6_000),
];

const SCENES: Scene[] = [
  { name: '200 capped groups', prepare: [createGroups(200, { maxActiveJobs: 4 }), queueEntries('group-%', 60)] },
  {
    name: '… beside a full group with 100,000 queued',
    prepare: [createGroups(200, { maxActiveJobs: 4 }), queueEntries('group-%', 60), ...fillGroup],
  },
  { name: 'one group behind 10,000 blocked entries', prepare: blockGroup },
  { name: '100,000 groups with an entry each', prepare: [createGroups(100_000, { hasPriorities: false }), queueEntries('group-%', 1)] },
  { name: '10,000 groups, each with a priority', prepare: [createGroups(10_000), queueEntries('group-%', 1)] },
];

/** Measures claims alone: what they admitted is ended in between, outside the measured time. */
export async function measureClaims(database: Database, { rounds = 10 } = {}): Promise<ClaimFigures[]> {
  const figures: ClaimFigures[] = [];
  for (const { name, prepare } of SCENES) {
    await database.query(
      sql`truncate waybill.manifest_group, waybill.manifest, waybill.work_queue, waybill.execution, waybill.dead_letter cascade`,
    );
    for (const statement of prepare) await database.query(statement);
    await database.query(sql`vacuum analyze waybill.work_queue`);
    for (const perClaim of [100, 500]) figures.push(summarize(name, perClaim, await timeClaims(database, perClaim, rounds)));
  }
  return figures;
}

async function timeClaims(database: Database, perClaim: number, rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    const { admitted } = await claimQueuedWork(database, { pools, limit: perClaim });
    times.push(performance.now() - startedAt);
    if (admitted.length !== perClaim) throw new Error(`claimed ${admitted.length} of ${perClaim} entries: the scene has too little queued`);
    await database.query(sql`
      update waybill.execution set state = 'completed', finished_at = waybill.now() where id = any(${admitted.map(({ id }) => id)}::bigint[])`);
  }
  return times;
}

function summarize(scene: string, perClaim: number, times: number[]): ClaimFigures {
  const sorted = times.toSorted((a, b) => a - b);
  const totalSeconds = times.reduce((sum, ms) => sum + ms, 0) / 1000;
  return {
    scene,
    perClaim,
    medianMs: Math.round(sorted[Math.floor(sorted.length / 2)]! * 10) / 10,
    worstMs: Math.round(sorted.at(-1)! * 10) / 10,
    claimsPerSecond: Math.round(times.length / totalSeconds),
    entriesPerSecond: Math.round((times.length * perClaim) / totalSeconds),
  };
}

/** The dispatcher's claim on a durable Postgres of its own, printed as a table. Takes about half a minute. */
export async function benchClaims(): Promise<ClaimFigures[]> {
  const postgres = await startThrowawayPostgres({ isDurable: true });
  try {
    await migrate(postgres.url);
    const database = openDatabase({ url: postgres.url });
    const figures = await measureClaims(database);
    await database.close();
    console.table(figures);
    return figures;
  } finally {
    await postgres.stop();
  }
}

if (import.meta.main) await benchClaims();
