export type BatchResponse = { isValid: true; failedIds: Set<string> } | { isValid: false; reason: string };

/**
 * Reads the answer of a function with `ReportBatchItemFailures` as Lambda does: nothing said means that every message succeeded, and anything that cannot be
 * understood means that none did, because deleting a message that failed would lose it while delivering one twice is allowed.
 */
export function readBatchResponse(payload: unknown, sentIds: ReadonlySet<string>): BatchResponse {
  if (payload === null || payload === undefined || payload === '') return { isValid: true, failedIds: new Set() };
  if (typeof payload !== 'object' || Array.isArray(payload)) return malformed(`the answer is ${describe(payload)}, not an object`);
  const failures = (payload as { batchItemFailures?: unknown }).batchItemFailures;
  if (failures === null || failures === undefined) return { isValid: true, failedIds: new Set() };
  if (!Array.isArray(failures)) return malformed(`batchItemFailures is ${describe(failures)}, not a list`);

  const failedIds = new Set<string>();
  for (const failure of failures) {
    const id: unknown = failure?.itemIdentifier;
    if (typeof id !== 'string' || id === '')
      return malformed(`an item of batchItemFailures is ${describe(failure)}: it needs an itemIdentifier`);
    if (!sentIds.has(id)) return malformed(`itemIdentifier '${id}' is not the messageId of a message in the batch`);
    failedIds.add(id);
  }
  return { isValid: true, failedIds };
}

function malformed(reason: string): BatchResponse {
  return { isValid: false, reason };
}

function describe(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value);
}
