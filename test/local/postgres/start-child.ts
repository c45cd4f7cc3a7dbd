import { startEmbeddedPostgres } from '../../../local/postgres/start-embedded-postgres.ts';

/** Run as a process of its own by the tests, to be killed or to run as another user: starts a server and tells its parent where. */
const postgres = await startEmbeddedPostgres({ dataDirectory: process.argv[2]!, isDurable: process.argv[3] === 'durable' });
process.send?.({ url: postgres.url, pid: postgres.pid });
process.once('disconnect', () => postgres.stop());
