import type { Database, Db } from '../../shared/db/database.ts';
import type { Sql } from '../../shared/db/sql.ts';
import type { Engine } from './engine.ts';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

/** The scans of a whole table or of much of it, among the statements that the work sends. */
export async function findWideScans({ database }: Engine, work: (database: Database) => Promise<unknown>): Promise<string[]> {
  const found: string[] = [];
  const collect = (node: PlanNode, text: string): void => {
    const relation = node['Relation Name'] ?? '';
    if (['execution', 'work_queue', 'manifest'].includes(relation) && /^seq/i.test(node['Node Type']))
      found.push(`${node['Node Type']} of ${relation}: ${text.replace(/\s+/g, ' ')}`);
    // Whole indexes of everything that is queued or live are no better.
    if (/^(work_queue_(claimable|in_order|delayed)|execution_unfinished)$/.test(node['Index Name'] ?? ''))
      found.push(`${node['Index Name']}: ${text.replace(/\s+/g, ' ')}`);
    for (const below of node.Plans ?? []) collect(below, text);
  };
  const explaining = (db: Db): Db => ({
    async query<Row>(statement: Sql): Promise<Row[]> {
      if (/savepoint/.test(statement.text)) return db.query<Row>(statement);
      const [row] = await db.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
        ...statement,
        text: `explain (format json) ${statement.text}`,
      });
      collect(row!['QUERY PLAN'][0]!.Plan, statement.text);
      return db.query<Row>(statement);
    },
  });
  await work({ ...database, ...explaining(database), transaction: (act) => database.transaction((db) => act(explaining(db))) });
  return found;
}
