import type { Database } from '../db/database.ts';
import type { Initiator } from '../model/initiator.ts';
import type { Doorbell } from '../queue/doorbell.ts';

/** What every operation needs: where to write, whom to poke after the commit, and who asked. */
export interface OperationContext {
  database: Database;
  doorbell: Doorbell;
  initiator: Initiator;
}
