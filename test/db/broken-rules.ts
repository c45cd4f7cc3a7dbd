type Row = Record<string, unknown>;

/** The least that a table accepts. Group 1 and the manifests 1 and 2 exist. */
export const soundRows: Record<string, Row> = {
  manifest_group: { name: 'other' },
  capacity: { id: true },
  manifest: { external_id: 'job', workflow_name: 'work', group_id: 1, owner: 'test', schedule_type: 'none' },
  manifest_dependency: { child_id: 1, parent_id: 2 },
  plan_step: { plan_id: 1, group_index: 0, position: 0, name: 'step', workflow_name: 'work', group_id: 1 },
  work_queue: { group_id: 1, manifest_id: 1, origin: 'manual', initiator_type: 'user' },
  execution: { root_id: 1, run_id: 1, group_id: 1, manifest_id: 1, origin: 'manual', initiator_type: 'user' },
  execution_step: { execution_id: 1, run_id: 1, name: 'step', sequence: 0, state: 'running', started_at: '2026-01-01' },
  execution_log: { execution_id: 1, run_id: 1, logged_at: '2026-01-01', level: 'info', message: 'said' },
  dead_letter: { execution_id: 1, manifest_id: 1, run_id: 1, input: {}, reason: 'exhausted', failed_count: 3 },
  backfill: { manifest_id: 1, from_at: '2026-01-01', to_at: '2026-01-03', cursor_at: '2026-01-02', initiator_type: 'user' },
  idempotency_key: { key: 'key', request_hash: 'hash', response: {} },
  scheduler_state: { id: true },
};

const at = '2026-01-01T00:00:00Z';
const later = '2026-01-02T00:00:00Z';
const lease = { lease_token: '00000000-0000-4000-8000-000000000001', lease_expires_at: at };
const interval = { schedule_type: 'interval', interval_seconds: 60, anchor: 'occurrence' };

interface BrokenRule {
  rule: string;
  table: string;
  /** What differs from a sound row; of several, the last breaks the rule. */
  rows: Row[];
}

const broken = (table: string, rule: string, ...rows: Row[]): BrokenRule => ({ rule, table, rows });

/** For each rule of the schema, rows of which the last is refused because of it. */
export const brokenRules: BrokenRule[] = [
  broken('manifest_group', 'group_name_is_unique', { name: 'twice' }, { name: 'twice' }),
  broken('manifest_group', 'group_name_is_1_to_200_characters', { name: '' }),
  broken('manifest_group', 'group_name_is_1_to_200_characters', { name: 'x'.repeat(201) }),
  broken('manifest_group', 'group_priority_is_0_to_31', { priority: 32 }),
  broken('manifest_group', 'group_capacity_is_positive_or_unlimited', { max_active_jobs: 0 }),

  broken('capacity', 'capacity_is_one_row', { id: true }, { id: false }),
  broken('capacity', 'capacity_is_positive_or_unlimited', { max_active_jobs: 0 }),

  ...['', '-dash', 'with space', 'slash/ed', 'x'.repeat(201), 'line\nbreak', 'job\n'].map((external_id) =>
    broken('manifest', 'external_id_is_well_formed', { external_id }),
  ),
  broken('manifest', 'manifest_external_id_is_unique', { deleted_at: at }, {}, {}),
  broken('manifest', 'interval_is_positive', { ...interval, interval_seconds: 0 }),
  broken('manifest', 'misfire_threshold_is_not_negative', { misfire_threshold_seconds: -1 }),
  broken('manifest', 'misfire_limit_is_positive', { misfire_policy: 'fire_all', misfire_limit: 0 }),
  broken('manifest', 'exclusions_are_a_list', { exclusions: {} }),
  broken('manifest', 'jitter_is_not_negative', { jitter_seconds: -1 }),
  broken('manifest', 'at_least_one_attempt', { max_attempts: 0 }),
  broken('manifest', 'backoff_starts_at_zero_or_more', { backoff_initial_seconds: -1 }),
  broken('manifest', 'backoff_does_not_shrink', { backoff_factor: 0.9 }),
  broken('manifest', 'backoff_has_a_positive_ceiling', { backoff_max_seconds: 0 }),
  broken('manifest', 'backoff_jitter_is_a_fraction', { backoff_jitter: 1.1 }),
  broken('manifest', 'timeout_is_positive', { timeout_seconds: 0 }),
  broken('manifest', 'priority_is_0_to_31', { priority: 32 }),
  broken('manifest', 'expectation_is_positive', { expect_within_seconds: 0 }),
  broken('manifest', 'success_count_is_not_negative', { success_count: -1 }),
  broken('manifest', 'failed_count_is_not_negative', { failed_count: -1 }),
  broken('manifest', 'a_job_and_only_a_job_names_a_workflow', { workflow_name: null }),
  broken('manifest', 'a_job_and_only_a_job_names_a_workflow', { kind: 'plan' }),
  broken('manifest', 'cron_has_expression_and_zone', { schedule_type: 'cron', cron_expression: '0 2 * * *' }),
  broken('manifest', 'cron_has_expression_and_zone', { cron_expression: '0 2 * * *', time_zone: 'UTC' }),
  broken('manifest', 'interval_has_length_and_anchor', { schedule_type: 'interval', interval_seconds: 60 }),
  broken('manifest', 'interval_has_length_and_anchor', { interval_seconds: 60, anchor: 'occurrence' }),
  broken('manifest', 'once_has_its_instant', { schedule_type: 'once' }),
  broken('manifest', 'once_has_its_instant', { run_at: at }),
  broken('manifest', 'dependents_have_a_mode', { schedule_type: 'dependent' }),
  broken('manifest', 'dependents_have_a_mode', { schedule_type: 'dormant_dependent' }),
  broken('manifest', 'dependents_have_a_mode', { dependency_mode: 'all' }),
  broken('manifest', 'fire_all_has_a_limit', { misfire_policy: 'fire_all' }),
  broken('manifest', 'once_has_no_misfire_and_no_exclusions', { schedule_type: 'once', run_at: at, misfire_policy: 'skip' }),
  broken('manifest', 'once_has_no_misfire_and_no_exclusions', {
    schedule_type: 'once',
    run_at: at,
    exclusions: '[{"type":"dates","dates":["2026-12-25"]}]',
  }),
  broken('manifest', 'only_timed_manifests_have_occurrences', { next_occurrence_at: at }),
  ...[
    { schedule_type: 'none' },
    { schedule_type: 'dormant_dependent', dependency_mode: 'all' },
    { ...interval, is_enabled: false },
    { ...interval, deleted_at: at },
    { ...interval, retiring_at: at },
    { ...interval, quarantine_error: 'unreadable' },
  ].map((row) => broken('manifest', 'only_what_may_run_is_due', { ...row, next_due_at: at })),
  broken('manifest', 'a_skip_has_reason_and_instant', { last_skip_reason: 'overlap' }),

  broken('manifest_dependency', 'consumed_is_not_negative', { consumed_success_count: -1 }),
  broken('manifest_dependency', 'nothing_depends_on_itself', { parent_id: 1 }),

  broken('plan_step', 'group_index_is_not_negative', { group_index: -1 }),
  broken('plan_step', 'position_is_not_negative', { position: -1 }),
  broken('plan_step', 'step_name_is_1_to_200_characters', { name: '' }),
  broken('plan_step', 'step_timeout_is_positive', { timeout_seconds: 0 }),
  broken('plan_step', 'step_has_at_least_one_attempt', { max_attempts: 0 }),
  broken('plan_step', 'plan_step_place_is_unique', {}, { name: 'another' }),
  broken('plan_step', 'plan_step_name_is_unique', {}, { position: 1 }),

  broken('work_queue', 'attempt_counts_from_one', { attempt: 0, run_id: 1 }),
  broken('work_queue', 'effective_priority_is_0_to_63', { priority: 64 }),
  broken('work_queue', 'entry_has_at_least_one_attempt', { max_attempts: 0 }),
  broken('work_queue', 'entry_timeout_is_positive', { timeout_seconds: 0 }),
  broken('work_queue', 'entry_counts_are_an_object', { consumed_counts: '[]' }),
  broken('work_queue', 'dispatched_iff_it_has_an_instant', { status: 'dispatched' }),
  broken('work_queue', 'dispatched_iff_it_has_an_instant', { dispatched_at: at }),
  broken('work_queue', 'cancelled_iff_it_has_an_instant', { status: 'cancelled' }),
  broken('work_queue', 'cancelled_iff_it_has_an_instant', { cancelled_at: at }),
  broken('work_queue', 'a_later_attempt_belongs_to_a_run', { attempt: 2 }),
  broken('work_queue', 'a_series_entry_has_an_occurrence', { lane: 'series' }),
  broken('work_queue', 'a_scheduled_entry_has_manifest_and_occurrence', { origin: 'schedule' }),
  broken('work_queue', 'a_scheduled_entry_has_manifest_and_occurrence', { origin: 'schedule', manifest_id: null, occurrence_at: at }),
  broken('work_queue', 'one_fresh_and_one_retry_per_manifest', {}, { lane: 'retry' }, { manifest_id: 2 }, {}),
  broken('work_queue', 'one_fresh_and_one_retry_per_manifest', {}, { lane: 'retry' }, { lane: 'retry' }),
  broken(
    'work_queue',
    'one_series_entry_per_occurrence',
    { lane: 'series', occurrence_at: at },
    { lane: 'series', occurrence_at: later },
    { lane: 'series', occurrence_at: at },
  ),
  broken(
    'work_queue',
    'one_entry_per_scheduled_occurrence',
    { origin: 'schedule', occurrence_at: at, status: 'cancelled', cancelled_at: later },
    { origin: 'schedule', occurrence_at: at },
  ),
  broken('work_queue', 'one_queued_entry_per_execution', { execution_id: 7 }, { execution_id: 7 }),

  broken('execution', 'execution_attempt_counts_from_one', { attempt: 0 }),
  broken('execution', 'counts_are_an_object', { consumed_counts: '[]' }),
  broken('execution', 'one_execution_per_entry', { work_queue_id: 7 }, { manifest_id: 2, work_queue_id: 7 }),
  ...['completed', 'completed_with_warnings', 'failed', 'cancelled', 'skipped'].map((state) =>
    broken('execution', 'finished_iff_final', { state, failure_code: 'thrown' }),
  ),
  broken('execution', 'finished_iff_final', { finished_at: at }),
  broken('execution', 'finished_iff_final', { state: 'in_progress', ...lease, finished_at: at }),
  broken('execution', 'a_run_in_progress_holds_a_lease', { state: 'in_progress' }),
  broken('execution', 'a_run_in_progress_holds_a_lease', { state: 'in_progress', ...lease, lease_token: null }),
  broken('execution', 'only_a_run_in_progress_has_a_lease_to_lose', { state: 'completed', finished_at: at, ...lease }),
  broken('execution', 'nobody_holds_what_has_not_started', { lease_token: lease.lease_token }),
  broken('execution', 'a_failure_says_why', { state: 'failed', finished_at: at }),
  broken('execution', 'a_plan_step_has_its_place', { group_index: 0, step_name: 'step' }),
  broken('execution', 'a_plan_step_has_its_place', { group_index: 0, position: 0 }),
  broken(
    'execution',
    'one_nested_run_per_name',
    { parent_id: 1, step_name: 'import' },
    { parent_id: 2, step_name: 'import' },
    { parent_id: 1, step_name: 'export' },
    { parent_id: 1, step_name: 'import', state: 'completed', finished_at: at },
  ),
  broken('execution', 'a_plan_knows_where_it_is', { group_count: 2 }),
  broken('execution', 'only_a_plan_has_a_deadline', { deadline_at: at }),
  broken('execution', 'one_unfinished_execution_per_manifest', { state: 'completed', finished_at: at }, { manifest_id: 2 }, {}, {}),
  broken('execution', 'one_unfinished_execution_per_manifest', {}, { state: 'waiting' }),
  broken(
    'execution',
    'one_execution_per_step_attempt',
    { parent_id: 1, group_index: 0, position: 0, step_name: 'step' },
    { parent_id: 1, group_index: 0, position: 0, step_name: 'step', attempt: 2 },
    { parent_id: 1, group_index: 0, position: 0, step_name: 'step' },
  ),

  broken('execution_step', 'execution_step_name_is_1_to_500_characters', { name: '' }),
  broken('execution_step', 'step_output_is_at_most_2_mib', { output: JSON.stringify('x'.repeat(2_097_152)) }),
  broken('execution_step', 'step_runs_once_per_run', {}, { execution_id: 2 }),
  broken('execution_step', 'step_finished_iff_not_running', { finished_at: at }),
  broken('execution_step', 'step_finished_iff_not_running', { state: 'completed' }),

  broken('execution_log', 'log_line_is_at_most_8_kib', { message: 'ä'.repeat(4_097) }),

  broken('dead_letter', 'resolved_iff_not_awaiting', { resolved_at: at }),
  broken('dead_letter', 'resolved_iff_not_awaiting', { status: 'acknowledged' }),
  broken('dead_letter', 'one_dead_letter_per_execution', { status: 'retried', resolved_at: at }, {}),
  broken(
    'dead_letter',
    'one_awaiting_dead_letter_per_manifest',
    { status: 'acknowledged', resolved_at: at },
    { execution_id: 2 },
    { execution_id: 3 },
  ),

  broken('backfill', 'backfill_goes_forward', { from_at: at, to_at: at, cursor_at: at }),
  broken('backfill', 'cursor_stays_inside', { cursor_at: '2026-01-04' }),
  broken('backfill', 'backfill_ended_iff_not_running', { ended_at: at }),
  broken('backfill', 'one_running_backfill_per_manifest', { status: 'cancelled', ended_at: at }, {}, {}),

  broken('idempotency_key', 'idempotency_key_is_1_to_255_characters', { key: 'x'.repeat(256) }),
  broken('scheduler_state', 'scheduler_state_is_one_row', { id: true }, { id: false }),
  broken('scheduler_state', 'only_a_planned_wake_is_armed', { armed_generation: 1 }),
];
