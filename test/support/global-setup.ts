import type { TestProject } from 'vitest/node';
import { startThrowawayPostgres } from '../../local/postgres/start-throwaway-postgres.ts';
import { createTemplate } from '../../local/testing/template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server that all tests of a run share. Tests make databases of their own on it: see `useDatabase`. */
    databaseUrl: string;
  }
}

/** One Postgres for the whole run, with a migrated database that every test file copies. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startThrowawayPostgres({ isDurable: false });
  try {
    await createTemplate(postgres.url);
    project.provide('databaseUrl', postgres.url);
    return () => postgres.stop();
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
