import { expect, it } from 'vitest';
import { openDatabase } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';
import { reachDatabase } from '../../shared/executor/reach-database.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { useDatabase } from '../support/database.ts';

const server = useDatabase();

it('work that takes longer than a transaction may is not tried over and over: the lease has the last word', async () => {
  const pooled = openDatabase({ url: server.url });
  await pooled.close();
  let attempts = 0;
  const reaching = reachDatabase(
    'it was tested',
    (database) => {
      attempts++;
      if (database === pooled) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      return database.transaction((db) => db.query(sql`select pg_sleep(60)`));
    },
    {
      database: pooled,
      databaseOptions: { url: server.url, transactionSeconds: 1 },
      pooledAttemptMs: 1_000,
      retryMs: [10, 10, 10],
      log: createLogger('test', () => {}),
    },
  );
  await expect(reaching).rejects.toMatchObject({ code: '25P04' });
  expect(attempts).toBe(2);
});
