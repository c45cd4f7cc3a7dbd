import { ConflictError } from '../errors.ts';

/** The version that somebody has read, and wants to change and no other; or any, as long as there is one. */
export type ExpectedVersion = number | 'any';

/** Refuses a change of a manifest that somebody else has changed since it was read. An undefined version is that of one that does not exist. */
export function refuseStale(externalId: string, version: number | undefined, expected: ExpectedVersion | undefined): void {
  if (expected === undefined || expected === version || (expected === 'any' && version !== undefined)) return;
  const found = version === undefined ? 'does not exist' : `has version ${version}, not ${expected}`;
  throw new ConflictError('version_mismatch', `manifest '${externalId}' ${found}: somebody has changed it, read it again`);
}
