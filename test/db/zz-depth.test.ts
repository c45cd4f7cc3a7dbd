import { it } from 'vitest';
import { useDatabase } from '/work/main/test/support/database.ts';
import { toStorableJson } from '/work/main/shared/model/json.ts';
const server = useDatabase();
it('x', async () => {
  for (const depth of [1000, 3000, 5000, 7000, 10000, 20000, 60000]) {
    let v: unknown = 1; for (let i = 0; i < depth; i++) v = [v];
    const t = toStorableJson(v);
    if ('problem' in t) { console.log(depth, t.problem); continue; }
    console.log(depth, await server.pool.query('select length(($1::jsonb)::text)', [t.text]).then((r) => JSON.stringify(r.rows), (e) => e.code + e.message));
  }
  for (const s of ['\ud800', 'a\udc00', '😀', '\u0001', '\\ud800', '\\\ud800', '\\u0000'])
    console.log(JSON.stringify(s), await server.pool.query('select $1::jsonb as v', [JSON.stringify(s)]).then((r) => JSON.stringify(r.rows), (e) => e.code + e.message));
});
