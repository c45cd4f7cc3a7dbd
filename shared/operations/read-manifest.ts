import type { Db } from '../db/database.ts';
import { selectManifests } from '../db/queries/select-manifests.ts';
import { selectPlanSteps } from '../db/queries/select-plan-steps.ts';
import { describeManifest, type ManifestDetail } from './describe-manifest.ts';
import { isExternalId } from './paging.ts';

/** The manifest of this name, or undefined when there is none (any more). */
export async function readManifest(db: Db, externalId: string): Promise<ManifestDetail | undefined> {
  if (!isExternalId(externalId)) return undefined;
  const { rows } = await selectManifests(db, { externalId, limit: 1 });
  if (!rows[0]) return undefined;
  return { ...describeManifest(rows[0]), steps: rows[0].kind === 'plan' ? await selectPlanSteps(db, externalId) : null };
}
