import type { SQSRecord } from 'aws-lambda';

/** Lambda's limit for the payload of one invocation. Ten messages of 1 MiB are more than that. */
const MAXIMUM_PAYLOAD_BYTES = 6 * 1024 * 1024;
const ENVELOPE_BYTES = Buffer.byteLength('{"Records":[]}');

/** Cuts what was received into events that an invocation can carry, keeping the order. */
export function splitBatch(records: SQSRecord[], maximumBytes = MAXIMUM_PAYLOAD_BYTES): SQSRecord[][] {
  const batches: SQSRecord[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const record of records) {
    const recordBytes = Buffer.byteLength(JSON.stringify(record)) + 1;
    if (bytes + recordBytes > maximumBytes) {
      batches.push([]);
      bytes = ENVELOPE_BYTES;
    }
    batches.at(-1)?.push(record);
    bytes += recordBytes;
  }
  return batches;
}
