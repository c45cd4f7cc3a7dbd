import { sql } from '../db/sql.ts';
import type { ManifestId } from '../model/ids.ts';
import type { ClaimContext } from './cycle.ts';
import type { Head } from './read-heads.ts';

/**
 * Locks the manifests of the candidates, so that nobody else decides about them until this claim has. One that is locked belongs to somebody who does so
 * right now and pokes afterwards; its entry keeps its place. An entry that continues an execution decides nothing about its manifest.
 */
export async function lockManifests<Round extends { candidates: Head[] }>(round: Round, { db }: ClaimContext): Promise<Round> {
  const ids = round.candidates.flatMap(({ manifestId, executionId }) => (manifestId === null || executionId !== null ? [] : [manifestId]));
  if (!ids.length) return round;
  const rows = await db.query<{ id: ManifestId }>(sql`
    select id from waybill.manifest
     where id = any(${ids}::bigint[]) and deleted_at is null
     order by id for no key update skip locked`);
  const locked = new Set(rows.map(({ id }) => id));
  const candidates = round.candidates.filter(
    ({ manifestId, executionId }) => manifestId === null || executionId !== null || locked.has(manifestId),
  );
  return { ...round, candidates };
}
