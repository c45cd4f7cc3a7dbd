import type { DatabaseSync } from 'node:sqlite';
import type { buildApp } from 'fauxqs';

export type Stores = NonNullable<NonNullable<Parameters<typeof buildApp>[0]>['stores']>;
type SqsStore = Stores['sqsStore'];
type SqsQueue = ReturnType<SqsStore['createQueue']>;
type Persistence = NonNullable<SqsStore['persistence']>;

export interface OpenStores {
  stores: Stores;
  close(): void;
}

/**
 * Opens the emulator's stores, on disk when a directory is given.
 *
 * The emulator's own entry point listens on every interface, so we assemble it ourselves from its parts; they are not in the package's `exports`, hence the
 * import by address. The version is pinned exactly and the tests of this folder fail if a part moves.
 *
 * Durability: each change is one SQLite transaction in write-ahead mode, committed before the request is answered. kill -9 at any line therefore loses no
 * acknowledged message (tested). With `synchronous = normal` a power cut may lose the last moments, never the file; bells are rung again by the manager.
 */
export async function openStores(dataDirectory: string | undefined): Promise<OpenStores> {
  const stores: Stores = {
    sqsStore: await construct<SqsStore>('./sqs/sqsStore.js', 'SqsStore'),
    snsStore: await construct<Stores['snsStore']>('./sns/snsStore.js', 'SnsStore'),
    s3Store: await construct<Stores['s3Store']>('./s3/s3Store.js', 'S3Store'),
  };
  // Without a host the emulator names queues by the address that the caller used, not by `sqs.us-east-1.localhost`.
  stores.sqsStore.host = '';
  if (dataDirectory === undefined) return { stores, close: () => {} };

  const persistence = await construct<Persistence>('./persistence.js', 'PersistenceManager', dataDirectory);
  const db = (persistence as unknown as { db: DatabaseSync }).db;
  db.exec('pragma synchronous = normal');
  mendMakingVisible(persistence, db);
  makeReceivesAtomic(stores.sqsStore, db);
  // Loading comes before the store knows of its persistence: writing a loaded queue back would replace its row and cascade to its messages.
  persistence.loadSqsAndSns(stores.sqsStore, stores.snsStore);
  stores.sqsStore.persistence = persistence;
  for (const queue of stores.sqsStore.allQueues()) queue.persistence = persistence;
  return { stores, close: () => persistence.close() };
}

/** The emulator's own statement sets a column to null that must not be, so `ChangeMessageVisibility 0` fails half-way and hides the message until a restart. */
function mendMakingVisible(persistence: Persistence, db: DatabaseSync): void {
  const makeVisible = db.prepare('update sqs_messages set receipt_handle = null, visibility_deadline = null where message_id = ?');
  persistence.updateMessageReady = (messageId) => {
    makeVisible.run(messageId);
  };
}

/** A receive that redrives deletes a message from one queue and inserts it into another: in one transaction, or a kill between the two loses it. */
function makeReceivesAtomic(sqsStore: SqsStore, db: DatabaseSync): void {
  const createQueue = sqsStore.createQueue.bind(sqsStore);
  sqsStore.createQueue = (...settings) => {
    const queue: SqsQueue = createQueue(...settings);
    const dequeue = queue.dequeue.bind(queue);
    queue.dequeue = (...request) => {
      db.exec('begin');
      try {
        const messages = dequeue(...request);
        db.exec('commit');
        return messages;
      } catch (error) {
        db.exec('rollback');
        throw error;
      }
    };
    return queue;
  };
}

async function construct<Part>(file: string, name: string, ...settings: unknown[]): Promise<Part> {
  const module = await import(new URL(file, import.meta.resolve('fauxqs')).href);
  return new module[name](...settings);
}
