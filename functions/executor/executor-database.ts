import type { MiddlewareObj } from '@middy/core';
import { type DatabaseOptions, openDatabase } from '../../shared/db/database.ts';
import { type DatabaseContext, readDatabaseUrl } from '../middleware/database.ts';

export interface ExecutorDatabaseContext extends DatabaseContext {
  databaseOptions: DatabaseOptions;
}

let opened: Promise<Pick<ExecutorDatabaseContext, 'database' | 'databaseOptions'>> | undefined;

/**
 * Gives the handler the database and the way to it: the renewal thread has a connection of its own, and outcomes get a fresh one when the pool fails. Opened once per
 * process; a failure is not remembered, the next invocation tries anew.
 */
export function withExecutorDatabase(): MiddlewareObj<unknown, unknown, Error, ExecutorDatabaseContext> {
  return {
    before: async ({ context }) => {
      opened ??= readDatabaseUrl().then((url) => ({ database: openDatabase({ url }), databaseOptions: { url } }));
      try {
        Object.assign(context, await opened);
      } catch (error) {
        opened = undefined;
        throw error;
      }
    },
  };
}
