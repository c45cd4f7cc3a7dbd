import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { buildApp } from 'fauxqs';
import type { Stores } from './open-stores.ts';

interface ReceiveResponse {
  Messages?: { ReceiptHandle: string }[];
}

/**
 * Gives messages back that were received for a caller who has hung up.
 *
 * The emulator does not notice when the caller of a long poll goes away: the abandoned poll takes the next message and hides it for the whole visibility
 * timeout. Every stop of an event source mapping leaves such a poll, so without this the first message after a reload would be minutes late.
 */
export function returnUndelivered(app: ReturnType<typeof buildApp>, { sqsStore }: Stores): void {
  app.addHook('preSerialization', async (request, _reply, payload) => {
    const { Messages: messages } = (payload ?? {}) as ReceiveResponse;
    if (messages === undefined) return payload;
    // The message and the hang-up may have arrived together: a turn of the event loop reads the latter, the next one acts on it.
    await turnOfTheLoop();
    await turnOfTheLoop();
    if (request.raw.socket.writable) return payload;
    const queue = sqsStore.getQueue((request.body as { QueueUrl: string }).QueueUrl);
    for (const { ReceiptHandle: receiptHandle } of messages) {
      const received = queue?.inflightMessages.get(receiptHandle);
      // Nobody saw it, so it does not count towards the redrive policy.
      if (received !== undefined) received.message.approximateReceiveCount -= 1;
      queue?.changeVisibility(receiptHandle, 0);
    }
    return payload;
  });
}
