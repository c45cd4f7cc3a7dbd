import type { Db } from '../db/database.ts';
import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ClaimContext } from './cycle.ts';
import type { Head } from './read-heads.ts';

/**
 * Locks the manifests of the candidates, so that nobody else decides about them until this claim has. One that is locked belongs to somebody who does so
 * right now: it is passed over, and its entry keeps its place. An entry that continues an execution decides nothing about its manifest.
 */
export async function lockManifests<Round extends { candidates: Head[] }>(
  round: Round,
  { db }: ClaimContext,
): Promise<Round & { hasPassedOver: boolean }> {
  const ids = round.candidates.flatMap(({ manifestId, executionId }) => (manifestId === null || executionId !== null ? [] : [manifestId]));
  const { locked, hasPassedOver } = await lockForAdmission(db, ids);
  const candidates = round.candidates.filter(
    ({ manifestId, executionId }) => manifestId === null || executionId !== null || locked.has(manifestId),
  );
  return { ...round, candidates, hasPassedOver };
}

/** Those that nobody else holds and that are not deleted. */
export async function lockForAdmission(db: Db, ids: ManifestId[]): Promise<{ locked: Set<ManifestId>; hasPassedOver: boolean }> {
  if (!ids.length) return { locked: new Set(), hasPassedOver: false };
  const rows = await db.query<{ id: ManifestId; isDeleted: boolean }>(sql`
    select id, deleted_at is not null as "isDeleted" from waybill.manifest
     where id = any(${ids}::bigint[])
     order by id for no key update skip locked`);
  const locked = new Set(rows.filter(({ isDeleted }) => !isDeleted).map(({ id }) => id));
  return { locked, hasPassedOver: rows.length < new Set(ids).size };
}
