import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../shared/db/database.ts';
import type { App } from '../../shared/define/app.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { InvalidInputError } from '../../shared/errors.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { checkInvariants } from './check-invariants.ts';
import { driveEngine } from './drive-engine.ts';
import { holdLeases } from './hold-leases.ts';
import { knownNames } from './known-names.ts';
import { operateKit } from './operate-kit.ts';
import { poolsOf, readDefinition } from './read-app.ts';
import { readKit } from './read-kit.ts';
import { recordDoorbell } from './record-doorbell.ts';
import { refuseWhenClosed } from './refuse-when-closed.ts';
import { takeTurns } from './take-turns.ts';
import type { TestKit, TestKitOptions } from './test-kit.ts';
import { reachTestServer } from './test-server.ts';
import { createClock, readInstant, toMilliseconds } from './virtual-clock.ts';

const DEFAULT_START = '2026-01-01T00:00:00Z';
const DEFAULT_RUN_LIMIT_MS = 3_000;
/** For steps side by side, and for what a test reads meanwhile. */
const CONNECTIONS = 5;

/**
 * Deploys an app into an engine of its own. The first kit of a process starts a Postgres that later ones share, each with a database of its own: kits do not see each other. Raises every
 * mistake of the app in one error, before anything is started.
 */
export async function createTestKit(app: App, options: TestKitOptions = {}): Promise<TestKit> {
  const { startAt = DEFAULT_START, runLimitMs = DEFAULT_RUN_LIMIT_MS, log: write = () => {} } = options;
  if (!(runLimitMs > 0))
    throw new InvalidInputError('invalid_run_limit', `runLimitMs must be a positive number of milliseconds, got ${runLimitMs}`);
  const clock = createClock(readInstant('startAt', startAt));
  const definition = await readDefinition(app);
  const { url, drop } = await (await reachTestServer()).takeDatabase();
  const database = refuseWhenClosed(openDatabase({ url, clock, maxConnections: CONNECTIONS, hasOwnSessions: true }));
  const closeAll = () => database.close().then(drop);
  await syncApp(database, definition, randomUUID()).catch((error) => closeAll().then(() => Promise.reject(error)));

  const doorbell = recordDoorbell();
  const leases = holdLeases();
  const pools = poolsOf(definition);
  const engine = driveEngine({
    database,
    databaseOptions: { url, clock },
    doorbell,
    workQueueUrl: pools.default?.queueUrl,
    workflows: app.workflows,
    log: createLogger('test-kit', write),
    // Nothing is rolled out here: a workflow that is unknown now stays unknown.
    timings: { rolloutSeconds: 0 },
    leases,
    pools,
    clock,
    runLimitMs,
  });
  const { inTurn, allOver } = takeTurns();
  /** What holds eventually is not to be expected of a kit with work that the test has left undone. */
  const check = () =>
    database.transaction((db) => checkInvariants(db, { kinds: engine.isAtRest() ? ['always', 'eventually'] : ['always'] }));
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    try {
      await allOver();
      await check();
    } finally {
      await closeAll();
    }
  }

  async function advance(findTarget: () => Date): Promise<void> {
    await inTurn(() => {
      const target = findTarget();
      if (target >= clock.now()) return engine.advanceTo(target);
      throw new InvalidInputError(
        'clock_moves_back',
        `the clock cannot be moved back from ${clock.now().toISOString()} to ${target.toISOString()}: create another kit with an earlier startAt`,
      );
    });
  }

  const names = knownNames(definition);
  return {
    get now() {
      return clock.now();
    },
    databaseUrl: url,
    drain: () => inTurn(async () => void (await engine.drain())),
    advanceTo: (target) => advance(() => readInstant('target', target)),
    advanceBy: (duration) => advance(() => new Date(clock.now().getTime() + toMilliseconds(duration))),
    ...readKit(database, names),
    ...operateKit({ database, doorbell, initiator: { type: 'user', id: 'test-kit', name: 'Test kit' } }, names, leases),
    checkInvariants: check,
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
