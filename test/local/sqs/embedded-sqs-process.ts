import { startEmbeddedSqs } from '../../../local/sqs/embedded-sqs.ts';

/** An embedded SQS in a process of its own, so that a test can kill it. Prints its address when it listens. */
const sqs = await startEmbeddedSqs({ dataDirectory: process.argv[2]! });
console.log(sqs.url);
