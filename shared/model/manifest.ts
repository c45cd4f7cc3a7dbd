import type { Exclusion } from '../time/exclusion.ts';
import type { ManifestId, WorkQueueId } from './ids.ts';

export type ScheduleType = 'none' | 'cron' | 'interval' | 'once' | 'dependent' | 'dormant_dependent';
export type MisfirePolicy = 'fire_once' | 'skip' | 'fire_all';

/** Why a manifest that was due was not queued. Closed: every value is shown to people and documented. */
export type SkipReason =
  | 'overlap'
  | 'misfire'
  | 'excluded'
  | 'group_disabled'
  | 'dead_letter'
  | 'not_ready'
  | 'already_queued'
  | 'running'
  | 'parent_disabled'
  | 'parent_deleted'
  | 'orphaned'
  | 'occurrence_taken'
  | 'quarantined';

/** An edge of a dependent, as it stands when the dependent is looked at. */
export interface ParentView {
  id: ManifestId;
  successCount: number;
  consumedCount: number;
  isEnabled: boolean;
  isDeleted: boolean;
}

/** A due manifest with the flags that decide about it, computed by the database for due rows only. */
export interface ManifestView {
  id: ManifestId;
  externalId: string;
  scheduleType: ScheduleType;
  cronExpression: string | null;
  timeZone: string | null;
  intervalSeconds: number | null;
  anchor: 'occurrence' | 'completion' | null;
  misfirePolicy: MisfirePolicy;
  misfireThresholdSeconds: number;
  misfireLimit: number | null;
  exclusions: Exclusion[];
  jitterSeconds: number;
  dependencyMode: 'all' | 'any' | null;
  parents: ParentView[];
  nextOccurrenceAt: Date | null;
  nextDueAt: Date;
  failedCount: number;
  hasAwaitingDeadLetter: boolean;
  /** A retry waits, or a fresh entry is queued for now, or a tick's for when its jitter is over. */
  hasQueuedWork: boolean;
  /** A trigger without input that waits for a later instant; a tick brings it forward instead of queueing beside it. */
  delayedEntryId: WorkQueueId | null;
  hasActiveExecution: boolean;
  groupEnabled: boolean;
  /** The group's name, as far as it is measured by itself. */
  metricGroup: string;
}
