import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { dumpSchema } from '../support/dump-schema.ts';

const server = useDatabase();
const committed = join(import.meta.dirname, '../../shared/db/schema.txt');

it('the migrations make exactly the schema that shared/db/schema.txt describes', async () => {
  const dump = await dumpSchema(server.pool);
  await expect(dump, 'after a new migration, run `npm test -- test/db/schema.test.ts -u` and read what changed').toMatchFileSnapshot(
    committed,
  );
});
