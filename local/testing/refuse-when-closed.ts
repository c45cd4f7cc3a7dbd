import type { Database } from '../../shared/db/database.ts';
import { WaybillError } from '../../shared/errors.ts';

/** The pool's own words for it would not tell what was closed. */
export function refuseWhenClosed(database: Database): Database {
  let isClosed = false;
  const whenOpen = async <Result>(work: () => Promise<Result>) => {
    if (isClosed) throw new WaybillError('kit_closed', 'this test kit was closed: create another one');
    return work();
  };
  return {
    query: (statement) => whenOpen(() => database.query(statement)),
    transaction: (work) => whenOpen(() => database.transaction(work)),
    close() {
      isClosed = true;
      return database.close();
    },
  };
}
