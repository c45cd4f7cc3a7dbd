import type { Db } from '../../shared/db/database.ts';
import type { Sql } from '../../shared/db/sql.ts';
import { dispatcherClaim } from '../../shared/dispatcher/cycle.ts';
import type { PoolSettings } from '../../shared/settings.ts';
import type { Engine } from '../support/engine.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

export interface Scan {
  type: string;
  relation: string;
  index: string | undefined;
  /** Rows that were looked at, admissible or not. */
  rowCount: number;
  loopCount: number;
}

/** Makes one claim and tells how each of its reading statements got at its rows. */
export async function explainClaim({ database }: Engine, context: { pools: Record<string, PoolSettings>; limit: number }) {
  const scans: Scan[] = [];
  const admitted = await database.transaction(async (db) => {
    const explaining: Db = {
      async query<Row>(statement: Sql): Promise<Row[]> {
        if (/^\s*(select|with (recursive|front))/.test(statement.text)) scans.push(...(await explain(db, statement)));
        return db.query<Row>(statement);
      },
    };
    return (await dispatcherClaim({}, { db: explaining, ...context })).admitted;
  });
  return { admitted, scans };
}

async function explain(db: Db, { text, values }: Sql): Promise<Scan[]> {
  const [row] = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({ text: `explain (analyze, format json) ${text}`, values });
  return collectScans(row!['QUERY PLAN'][0]!.Plan);
}

function collectScans(node: PlanNode): Scan[] {
  const below = (node.Plans ?? []).flatMap(collectScans);
  // A bitmap's index scan names no relation: it is part of the heap scan above it, which does.
  if (!node['Relation Name']) return below;
  const rows = node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return [
    {
      type: node['Node Type'],
      relation: node['Relation Name'],
      index: node['Index Name'],
      rowCount: Math.round(rows * node['Actual Loops']),
      loopCount: node['Actual Loops'],
    },
    ...below,
  ];
}

const TABLES = ['work_queue', 'execution', 'manifest', 'manifest_group', 'dead_letter'];

/** Statistics change only when a test says so. */
export async function freezeStatistics({ database }: Engine): Promise<void> {
  for (const table of TABLES) await database.query({ text: `alter table waybill.${table} set (autovacuum_enabled = false)`, values: [] });
}

export async function analyze({ database }: Engine): Promise<void> {
  await database.query({ text: `analyze ${TABLES.map((table) => `waybill.${table}`).join(', ')}`, values: [] });
}
