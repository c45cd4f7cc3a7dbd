import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../shared/db/database.ts';
import { type Sql, sql } from '../../shared/db/sql.ts';
import { ConflictError } from '../../shared/errors.ts';
import { edgesAbove, type GroupedEdge, refuseCycles, refuseCyclesAmong } from '../../shared/transitions/refuse-cycles.ts';
import { useEngine } from '../support/engine.ts';

const engine = useEngine();

interface PlanNode {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** The rows of tables that a plan looked at, whether they were wanted or not. */
function countRows({ Plans = [], ...node }: PlanNode): number {
  const own = node['Relation Name'] ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] : 0;
  return Plans.reduce((sum, below) => sum + countRows(below), own);
}

describe('among 100,000 edges', () => {
  // Chains of eleven, each in a group of its own: chain 0 is m-0 → m-1 → … → m-10.
  beforeAll(async () => {
    await engine.database.query(sql`insert into waybill.manifest_group (name) select 'chain-' || n from generate_series(0, 9999) n`);
    await engine.database.query(sql`
      insert into waybill.manifest (external_id, workflow_name, input, group_id, schedule_type, dependency_mode, owner)
      select 'm-' || n, 'work', '{}', g.id, (case when n % 11 = 0 then 'none' else 'dependent' end)::waybill.schedule_type,
             (case when n % 11 > 0 then 'all' end)::waybill.dependency_mode, 'test'
        from generate_series(0, 109999) n join waybill.manifest_group g on g.name = 'chain-' || n / 11`);
    await engine.database.query(sql`
      insert into waybill.manifest_dependency (child_id, parent_id)
      select c.id, p.id from waybill.manifest c join waybill.manifest p on p.external_id = 'm-' || substr(c.external_id, 3)::int - 1
       where c.schedule_type = 'dependent'`);
  }, 120_000);

  /** Adds an edge, judges, and takes it back. */
  async function judge(parent: string, child: string) {
    let rowCount = 0;
    const isDone = new Error('taken back');
    const judging = engine.database.transaction(async (db) => {
      await db.query(sql`
        insert into waybill.manifest_dependency (child_id, parent_id)
        select c.id, p.id from waybill.manifest c, waybill.manifest p where c.external_id = ${child} and p.external_id = ${parent}`);
      const counting: Db = {
        async query<Row>(statement: Sql): Promise<Row[]> {
          const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
            ...statement,
            text: `explain (analyze, format json) ${statement.text}`,
          });
          rowCount += countRows(plan!['QUERY PLAN'][0].Plan);
          return db.query<Row>(statement);
        },
      };
      await refuseCycles(counting, [child]);
      throw isDone;
    });
    const refusal: unknown = await judging.catch((error: unknown) => error);
    return { refusal: refusal === isDone ? undefined : refusal, rowCount };
  }

  it.each([['before anything is known of the tables'], ['once the tables were analyzed']])(
    'a new one costs what its end waits for, %s',
    async (when) => {
      if (when.startsWith('once'))
        await engine.database.query({ text: 'analyze waybill.manifest, waybill.manifest_group, waybill.manifest_dependency', values: [] });
      // One chain now waits for another: two of them are read, of the others nothing.
      const { refusal, rowCount } = await judge('m-54', 'm-551');
      expect(refusal).toBeUndefined();
      expect(rowCount).toBeGreaterThan(40);
      expect(rowCount).toBeLessThan(500);
    },
  );

  it('one that closes a circle is refused', async () => {
    expect((await judge('m-10', 'm-3')).refusal).toMatchObject({ code: 'circular_dependency', message: expect.stringContaining('m-3 → ') });
  });
});

describe('what the groups of touched manifests wait for', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const isRefused = (edges: GroupedEdge[]) => {
    try {
      refuseCyclesAmong(edges);
      return false;
    } catch (error) {
      if (error instanceof ConflictError) return true;
      throw error;
    }
  };

  it('holds a circle exactly if the whole graph does, provided that there was none before', () => {
    const groups = fc.dictionary(name, fc.constantFrom('one', 'two', 'three', 'four'), { noNullPrototype: true });
    const edge = fc.record({ parent: name, child: name });
    let refusedCount = 0;
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 8 }), fc.array(edge, { minLength: 1, maxLength: 2 }), groups, (present, added, groupOf) => {
        const grouped = ({ parent, child }: { parent: string; child: string }): GroupedEdge => ({
          parent,
          child,
          parentGroup: groupOf[parent] ?? parent,
          childGroup: groupOf[child] ?? child,
        });
        fc.pre(!isRefused(present.map(grouped)));
        const all = [...present, ...added].map(grouped);
        const above = edgesAbove(
          all,
          added.map(grouped).map(({ childGroup }) => childGroup),
        );
        refusedCount += Number(isRefused(all));
        expect(isRefused(above)).toBe(isRefused(all));
      }),
      { numRuns: 500 },
    );
    expect(refusedCount).toBeGreaterThan(20);
  });
});
