import { expect } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ExecutionId, ManifestId } from '../../shared/model/ids.ts';
import type { EndedRun } from '../../shared/transitions/end-runs.ts';
import type { Engine } from '../support/engine.ts';

interface ManifestRow {
  id: ManifestId;
  name: string;
  successCount: number;
  mode: 'all' | 'any' | null;
  intervalSeconds: number | null;
  runAt: Date | null;
  createdAt: Date;
}

interface RunRow {
  id: ExecutionId;
  manifestId: ManifestId;
  entryId: string;
  runId: ExecutionId;
  attempt: number;
  origin: string;
  occurrenceAt: Date | null;
  state: string;
  isLive: boolean;
}

/**
 * What must be so after the answers that were given, without a word about how the engine comes to them: what is live, how often each manifest has succeeded, and which runs
 * there may be. A run needs a reason: an instant of its schedule, a new success of its parents, somebody who asked, a failure before it.
 */
export class EngineModel {
  readonly #engine: Engine;
  readonly #parents: Map<string, string[]>;
  readonly #live = new Set<ExecutionId>();
  readonly #ended = new Map<ExecutionId, EndedRun['state']>();
  readonly #successes = new Map<ManifestId, number>();
  readonly #asked = new Set<string>();

  constructor(engine: Engine, parents: Map<string, string[]>) {
    this.#engine = engine;
    this.#parents = parents;
  }

  admitted(executions: { id: ExecutionId }[]): void {
    for (const { id } of executions) this.#live.add(id);
  }

  ended(runs: Pick<EndedRun, 'executionId' | 'manifestId' | 'state'>[]): void {
    for (const { executionId, manifestId, state } of runs) {
      expect(this.#live.delete(executionId), `execution ${executionId} ends once, and only if it was live`).toBe(true);
      this.#ended.set(executionId, state);
      if (state === 'completed') this.#successes.set(manifestId!, (this.#successes.get(manifestId!) ?? 0) + 1);
    }
  }

  /** Somebody asked, and the answer was a place in the queue. */
  asked(entryId: string): void {
    this.#asked.add(entryId);
  }

  async check(): Promise<void> {
    const manifests = await this.#engine.rows<ManifestRow>(sql`
      select id, external_id as name, success_count as "successCount", dependency_mode as mode, interval_seconds as "intervalSeconds", run_at as "runAt",
             created_at as "createdAt" from waybill.manifest order by id limit 1000`);
    const runs = await this.#engine.rows<RunRow>(sql`
      select id, manifest_id as "manifestId", work_queue_id::text as "entryId", run_id as "runId", attempt, origin, occurrence_at as "occurrenceAt", state,
             finished_at is null as "isLive" from waybill.execution order by id limit 10000`);
    expect(new Set(runs.filter(({ isLive }) => isLive).map(({ id }) => id))).toEqual(this.#live);
    expect(new Map(runs.filter(({ isLive }) => !isLive).map(({ id, state }) => [id, state]))).toEqual(this.#ended);
    for (const { id, name, successCount } of manifests) expect(successCount, name).toBe(this.#successes.get(id) ?? 0);
    const byManifest = Map.groupBy(runs, ({ manifestId }) => manifestId);
    for (const manifest of manifests) this.#checkReasons(manifest, byManifest.get(manifest.id) ?? [], manifests);
  }

  #checkReasons(manifest: ManifestRow, runs: RunRow[], manifests: ManifestRow[]): void {
    const before = new Map(runs.map((run) => [`${run.runId} ${run.attempt + 1}`, run]));
    for (const run of runs) {
      const reason = `execution ${run.id} of ${manifest.name}, ${run.origin}, attempt ${run.attempt}`;
      if (run.attempt > 1) expect(before.get(`${run.runId} ${run.attempt}`)?.state, reason).toBe('failed');
      else if (run.origin === 'manual') expect(this.#asked, reason).toContain(run.entryId);
      else if (run.origin === 'schedule') expect(this.#isOnSchedule(manifest, run.occurrenceAt!), reason).toBe(true);
      else expect(run.origin, reason).toBe('dependency');
    }
    const first = (origin: string) => runs.filter((run) => run.attempt === 1 && run.origin === origin);
    const occurrences = first('schedule').map(({ occurrenceAt }) => occurrenceAt!.getTime());
    expect(new Set(occurrences).size, `an occurrence of ${manifest.name} runs once`).toBe(occurrences.length);
    expect(first('dependency').length, `runs of ${manifest.name} after new successes`).toBeLessThanOrEqual(
      this.#mostAfterParents(manifest, manifests),
    );
  }

  #isOnSchedule({ createdAt, intervalSeconds, runAt }: ManifestRow, occurrenceAt: Date): boolean {
    const isPast = occurrenceAt <= this.#engine.clock.now();
    if (intervalSeconds === null) return isPast && occurrenceAt.getTime() === runAt?.getTime();
    return isPast && (occurrenceAt.getTime() - createdAt.getTime()) % (intervalSeconds * 1000) === 0;
  }

  /** Each run consumes at least one new success of every parent, or of any; parents that were deleted and declared again count together. */
  #mostAfterParents({ name, mode }: ManifestRow, manifests: ManifestRow[]): number {
    const counts = (this.#parents.get(name) ?? []).map((parent) =>
      manifests.filter((one) => one.name === parent).reduce((sum, { successCount }) => sum + successCount, 0),
    );
    return mode === 'all' ? Math.min(...counts) : counts.reduce((sum, count) => sum + count, 0);
  }
}
