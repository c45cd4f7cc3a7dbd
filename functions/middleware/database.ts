import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { MiddlewareObj } from '@middy/core';
import type { Context } from 'aws-lambda';
import { type Database, type DatabaseOptions, openDatabase } from '../../shared/db/database.ts';
import { sdkLimits } from '../../shared/sdk-limits.ts';
import { requiredSetting } from '../../shared/settings.ts';

export interface DatabaseContext extends Context {
  database: Database;
  /** How to reach it over a connection of one's own: for lease renewals, and for outcomes when the pool fails. */
  databaseOptions: DatabaseOptions;
}

let opened: Promise<Pick<DatabaseContext, 'database' | 'databaseOptions'>> | undefined;

/**
 * Gives the handler the database in `context.database`. It is opened once per process; when opening fails (the secret is
 * not readable yet, say) the next invocation tries anew instead of remembering the failure.
 */
export function withDatabase({ maxConnections = 2 } = {}): MiddlewareObj<unknown, unknown, Error, DatabaseContext> {
  return {
    before: async ({ context }) => {
      opened ??= readDatabaseUrl().then((url) => ({ database: openDatabase({ url, maxConnections }), databaseOptions: { url } }));
      try {
        Object.assign(context, await opened);
      } catch (error) {
        opened = undefined;
        throw error;
      }
    },
  };
}

/** The connection URL, which only the functions' roles can read. Given up soon enough for the API to say so before its caller does. */
export async function readDatabaseUrl(): Promise<string> {
  const client = new SecretsManagerClient(sdkLimits(5_000));
  try {
    const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: requiredSetting('WAYBILL_DATABASE_SECRET_ID') }));
    if (!SecretString) throw new Error('the database secret is empty: put a postgres:// URL into it');
    return SecretString;
  } finally {
    client.destroy();
  }
}
