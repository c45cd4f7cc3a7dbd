import { type Database, openDatabase } from '../db/database.ts';
import { isConnectionLost } from '../db/postgres-errors.ts';
import { putManifests } from '../define/put-manifests.ts';
import { DatabaseError } from '../errors.ts';
import type { Initiator } from '../model/initiator.ts';
import { createLogger } from '../observability/log.ts';
import { cancelExecution } from '../operations/cancel-execution.ts';
import type { OperationContext } from '../operations/context.ts';
import { removeManifest } from '../operations/remove-manifest.ts';
import { runWorkflow } from '../operations/run-workflow.ts';
import { disableManifest, enableManifest } from '../operations/switch-manifest.ts';
import { trigger } from '../operations/trigger.ts';
import type { Doorbell } from '../queue/doorbell.ts';
import type { Transport } from './transport.ts';

export type DatabaseTransportOptions = ({ databaseUrl: string; doorbell?: Doorbell } | { database: Database; doorbell: Doorbell }) & {
  /** Who asks, for the audit trail. */
  initiator?: { id: string; name?: string };
};

/** Asks the operations themselves: for programs that may read the database's secret. A database that was handed in is its owner's to close. */
export function createDatabaseTransport(options: DatabaseTransportOptions): Transport {
  const database = 'database' in options ? options.database : openDatabase({ url: options.databaseUrl });
  const context: OperationContext = {
    database,
    doorbell: options.doorbell ?? findDoorbell(),
    initiator: toInitiator(options.initiator),
  };
  return {
    put: (manifests) => tellingLoss(() => putManifests(context, manifests)),
    trigger: (externalId, asked) => tellingLoss(() => trigger(context, { externalId, ...asked })),
    run: (workflow, input, asked) => tellingLoss(() => runWorkflow(context, { workflow, input, ...asked })),
    cancel: (executionId) => tellingLoss(() => cancelExecution(context, executionId)),
    enable: (externalId) => tellingLoss(() => enableManifest(context, externalId)),
    disable: (externalId) => tellingLoss(() => disableManifest(context, externalId)),
    remove: (externalId) => tellingLoss(() => removeManifest(context, externalId)),
    close: async () => {
      if (!('database' in options)) await database.close();
    },
  };
}

function toInitiator(given: DatabaseTransportOptions['initiator']): Initiator {
  return given ? { type: 'user', id: given.id, name: given.name ?? given.id } : { type: 'system', id: 'client', name: 'client' };
}

/** Inside a function of the stack the bells are known. Elsewhere nobody is poked, and the manager's next heartbeat finds what was asked for. */
function findDoorbell(): Doorbell {
  const { WAYBILL_WAKE_QUEUE_URL, WAYBILL_DISPATCH_QUEUE_URL } = process.env;
  const isKnown = Boolean(WAYBILL_WAKE_QUEUE_URL && WAYBILL_DISPATCH_QUEUE_URL);
  let doorbell: Promise<Doorbell> | undefined;
  // The SDK is loaded when it is first needed: it costs more than the rest of the client.
  const open = () =>
    (doorbell ??= import('../queue/sqs-doorbell.ts').then(({ createSqsDoorbell }) => createSqsDoorbell(createLogger('client'))));
  return {
    ringExecutions: async (bells) => (isKnown ? (await open()).ringExecutions(bells) : []),
    pokeDispatcher: async (poke) => {
      if (isKnown) await (await open()).pokeDispatcher(poke);
    },
    pokeManager: async (poke) => isKnown && (await open()).pokeManager(poke),
  };
}

/** A lost connection in the words in which the API tells of it. What was sent last may have happened; repeated, a run without a manifest is another run. */
async function tellingLoss<Result>(ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    const message = 'the database cannot be reached at the moment: try again in a few seconds';
    throw new DatabaseError('database_unavailable', message, { retryable: true, cause: error });
  }
}
