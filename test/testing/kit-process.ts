import { parentPort } from 'node:worker_threads';
import { createTestKit } from '../../local/testing/index.ts';
import { app } from '../../shared/index.ts';

/** Run as a process or a thread of its own by the tests, to end or to be killed with a kit that it does not close. */
await createTestKit(app({ name: 'left-open', workflows: [], manifests: () => {} }));
parentPort?.postMessage('ready');
process.stdout.write('ready\n');
if (process.argv[2] === 'stay' || parentPort) setInterval(() => {}, 60_000);
