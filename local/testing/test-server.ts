import { randomUUID } from 'node:crypto';
import { startThrowawayPostgres } from '../postgres/start-throwaway-postgres.ts';
import { copyDatabase, createTemplate, dropDatabase, urlOf } from './template-database.ts';

export interface TestServer {
  /** A migrated database of the caller's own. */
  takeDatabase(): Promise<TestDatabase>;
}

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

let running: Promise<TestServer> | undefined;

/**
 * The one server of this process, started by whoever needs it first, which takes a second or two. It does not keep the process awake, and nobody has to stop it: it ends with the process. A
 * start that failed is tried again by the next caller, and so is one after the server died.
 */
export function reachTestServer(): Promise<TestServer> {
  running ??= startTestServer().catch((error) => {
    running = undefined;
    throw error;
  });
  return running;
}

async function startTestServer(): Promise<TestServer> {
  const postgres = await startThrowawayPostgres({ isDurable: false });
  try {
    await createTemplate(postgres.url);
  } catch (error) {
    await postgres.stop();
    throw error;
  }
  postgres.unref();
  postgres.onExit(() => {
    running = undefined;
  });
  return keepSpare(postgres.url);
}

/** Copying takes a tenth of a second, so the next database is made ready while the last one is being used. */
function keepSpare(serverUrl: string): TestServer {
  let spare: Promise<string> | undefined;

  async function copy(): Promise<string> {
    const name = `kit_${randomUUID().replaceAll('-', '')}`;
    await copyDatabase(serverUrl, name);
    return name;
  }

  return {
    async takeDatabase() {
      const taken = spare ?? copy();
      spare = undefined;
      const name = await taken;
      spare ??= copy();
      // Whoever takes it hears of its failure.
      spare.catch(() => {});
      return { url: urlOf(serverUrl, name), drop: () => dropDatabase(serverUrl, name) };
    },
  };
}
