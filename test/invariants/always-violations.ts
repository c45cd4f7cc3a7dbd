import { manifestSubject, nameOf, type PlantedViolation, plantPlan } from './planted-violation.ts';
import { ago, lease, NOW } from './world.ts';

const failed = { state: 'failed', failure_code: 'thrown', finished_at: ago(30) };
const dormant = { schedule_type: 'dormant_dependent', dependency_mode: 'all' };

/** At least one per invariant that holds always. Where a constraint forbids the row, it is dropped first: the invariant is what notices its absence. */
export const alwaysViolations: PlantedViolation[] = [
  {
    what: 'a second unfinished execution of a manifest',
    invariant: 'a_manifest_has_at_most_one_unfinished_execution',
    plant: async (world) => {
      await world.run('drop index waybill.one_unfinished_execution_per_manifest');
      const manifestId = await world.manifest();
      await world.admitted({ manifest_id: manifestId });
      await world.admitted({ manifest_id: manifestId });
      return `manifest ${manifestId}`;
    },
  },
  {
    what: 'a group whose limit was never changed with one execution too many',
    invariant: 'a_group_holds_no_more_slots_than_its_capacity',
    plant: async (world) => {
      const groupId = await world.group({ max_active_jobs: 2, created_at: NOW, updated_at: NOW });
      for (let count = 0; count < 3; count++) await world.admitted({ group_id: groupId });
      return `group ${await nameOf(world, 'manifest_group', groupId)}`;
    },
  },
  {
    what: 'an admission into a group that is full since its limit was lowered',
    invariant: 'a_group_holds_no_more_slots_than_its_capacity',
    plant: async (world) => {
      const groupId = await world.group({ max_active_jobs: 2, updated_at: ago(600) });
      for (const seconds of [900, 800, 10]) await world.admitted({ group_id: groupId, created_at: ago(seconds) });
      return `group ${await nameOf(world, 'manifest_group', groupId)}`;
    },
  },
  {
    what: 'one execution more than the capacity of the whole',
    invariant: 'all_groups_together_hold_no_more_slots_than_the_capacity',
    plant: async (world) => {
      await world.run('update waybill.capacity set max_active_jobs = 2, updated_at = $1', [ago(600)]);
      for (let count = 0; count < 3; count++) await world.admitted();
      return 'capacity';
    },
  },
  {
    what: 'an unfinished execution with an end',
    invariant: 'an_execution_is_finished_if_and_only_if_its_state_is_final',
    plant: async (world) => {
      await world.run('alter table waybill.execution drop constraint finished_iff_final');
      return `execution ${(await world.admitted({ finished_at: ago(1) })).id}`;
    },
  },
  {
    what: 'a final execution without an end',
    invariant: 'an_execution_is_finished_if_and_only_if_its_state_is_final',
    plant: async (world) => {
      await world.run('alter table waybill.execution drop constraint finished_iff_final');
      return `execution ${(await world.admitted({ state: 'completed' })).id}`;
    },
  },
  {
    what: 'a queued entry of a group that does not exist',
    invariant: 'a_queued_entry_names_only_what_exists',
    plant: async (world) => `entry ${await world.entry({ group_id: 999_999 })}`,
  },
  {
    what: 'a queued entry of a deleted manifest',
    invariant: 'a_queued_entry_names_only_what_exists',
    plant: async (world) => `entry ${await world.entry({ manifest_id: await world.manifest({ deleted_at: ago(60) }) })}`,
  },
  {
    what: 'a queued retry of a run that does not exist',
    invariant: 'a_queued_entry_names_only_what_exists',
    plant: async (world) => `entry ${await world.entry({ run_id: 999_999, lane: 'retry', attempt: 1 })}`,
  },
  {
    what: 'a queued entry that would wake an execution which has ended',
    invariant: 'a_queued_entry_names_only_what_exists',
    plant: async (world) => {
      const { id } = await world.admitted({ state: 'cancelled', finished_at: ago(10) });
      return `entry ${await world.entry({ execution_id: id })}`;
    },
  },
  {
    what: 'an execution of a manifest that does not exist',
    invariant: 'an_unfinished_execution_names_only_what_exists',
    plant: async (world) => `execution ${(await world.admitted({ manifest_id: 999_999 })).id}`,
  },
  {
    what: 'a live execution of a deleted manifest',
    invariant: 'an_unfinished_execution_names_only_what_exists',
    plant: async (world) => `execution ${(await world.admitted({ manifest_id: await world.manifest({ deleted_at: ago(60) }) })).id}`,
  },
  {
    what: 'an execution whose group, entry, parent, root and run do not exist',
    invariant: 'an_unfinished_execution_names_only_what_exists',
    plant: async (world) => {
      const missing = { group_id: 999_999, work_queue_id: 999_999, parent_id: 999_999, root_id: 999_999, run_id: 999_999 };
      return `execution ${await world.execution(missing)}`;
    },
  },
  {
    what: 'a dead letter whose execution does not exist',
    invariant: 'an_awaiting_dead_letter_names_only_what_exists',
    plant: async (world) => `dead letter ${await world.deadLetter({ execution_id: 999_999 })}`,
  },
  {
    what: 'a dead letter whose manifest does not exist',
    invariant: 'an_awaiting_dead_letter_names_only_what_exists',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      return `dead letter ${await world.deadLetter({ manifest_id: 999_999, execution_id: id, run_id: id })}`;
    },
  },
  {
    what: 'a dispatched entry without an execution',
    invariant: 'a_dispatched_entry_has_its_execution',
    plant: async (world) => `entry ${await world.entry({ status: 'dispatched', dispatched_at: ago(1) })}`,
  },
  {
    what: 'a pending execution whose entry is still queued',
    invariant: 'an_unfinished_execution_has_its_entry_in_the_matching_status',
    plant: async (world) => `execution ${await world.execution({ work_queue_id: await world.entry() })}`,
  },
  {
    what: 'a running execution that never had an entry',
    invariant: 'an_unfinished_execution_has_its_entry_in_the_matching_status',
    plant: async (world) => `execution ${await world.execution({ state: 'in_progress', started_at: ago(5), ...lease() })}`,
  },
  {
    what: 'a step of a plan that runs without an entry',
    invariant: 'an_unfinished_execution_has_its_entry_in_the_matching_status',
    plant: async (world) => {
      const step = (await plantPlan(world))(0, 0);
      return `execution ${await world.execution({ ...step, state: 'in_progress', started_at: ago(5), ...lease() })}`;
    },
  },
  {
    what: 'a sleeper that no entry will wake',
    invariant: 'an_unfinished_execution_has_its_entry_in_the_matching_status',
    plant: async (world) => `execution ${(await world.admitted({ state: 'waiting', started_at: ago(60) })).id}`,
  },
  {
    what: 'a nested run that outlived the run around it',
    invariant: 'a_nested_run_ends_waits_and_runs_with_its_parent',
    plant: async (world) => {
      const { id } = await world.admitted({ ...failed, started_at: ago(60) });
      return `execution ${await world.execution({ parent_id: id, root_id: id, run_id: id, state: 'in_progress', ...lease(), lease_expires_at: 'infinity' })}`;
    },
  },
  {
    what: 'a nested run in progress under a lease that its parent no longer has',
    invariant: 'a_nested_run_ends_waits_and_runs_with_its_parent',
    plant: async (world) => {
      const { id } = await world.admitted({ state: 'in_progress', ...lease(), lease_token: '00000000-0000-4000-8000-000000000002' });
      return `execution ${await world.execution({ parent_id: id, root_id: id, run_id: id, state: 'in_progress', ...lease(), lease_expires_at: 'infinity' })}`;
    },
  },
  {
    what: 'a nested run that runs although the run around it was handed back',
    invariant: 'a_nested_run_ends_waits_and_runs_with_its_parent',
    plant: async (world) => {
      const { id } = await world.admitted();
      return `execution ${await world.execution({ parent_id: id, root_id: id, run_id: id, state: 'in_progress', ...lease(), lease_expires_at: 'infinity' })}`;
    },
  },
  {
    what: 'a step that runs in an execution which has ended',
    invariant: 'a_running_step_belongs_to_an_unfinished_execution',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      await world.run(
        `insert into waybill.execution_step (execution_id, run_id, name, sequence, state, started_at) values ($1, $1, 'download', 1, 'running', $2)`,
        [id, ago(60)],
      );
      return `execution ${id}`;
    },
  },
  {
    what: 'a run that has the same attempt twice, even if it lacks another',
    invariant: 'the_attempts_of_a_run_are_consecutive',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      await world.admitted({ run_id: id, attempt: 3, ...failed });
      await world.admitted({ run_id: id, attempt: 3 });
      return `run ${id}`;
    },
  },
  {
    what: 'a run that lacks an attempt',
    invariant: 'the_attempts_of_a_run_are_consecutive',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      await world.admitted({ run_id: id, attempt: 3 });
      return `run ${id}`;
    },
  },
  {
    what: 'two queued retries of an ad-hoc run',
    invariant: 'a_run_has_one_queued_retry_at_most_and_it_is_the_next_attempt',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      for (let count = 0; count < 2; count++) await world.entry({ run_id: id, lane: 'retry', origin: 'retry', attempt: 2 });
      return `run ${id}`;
    },
  },
  {
    what: 'a queued retry that is not the next attempt',
    invariant: 'a_run_has_one_queued_retry_at_most_and_it_is_the_next_attempt',
    plant: async (world) => {
      const { id } = await world.admitted(failed);
      await world.entry({ run_id: id, lane: 'retry', origin: 'retry', attempt: 3 });
      return `run ${id}`;
    },
  },
  {
    what: 'a queued retry of a run that has not ended',
    invariant: 'a_run_has_one_queued_retry_at_most_and_it_is_the_next_attempt',
    plant: async (world) => {
      const { id } = await world.admitted();
      await world.entry({ run_id: id, lane: 'retry', origin: 'retry', attempt: 2 });
      return `run ${id}`;
    },
  },
  {
    what: 'an execution that was admitted at the very instant its manifest was dead-lettered',
    invariant: 'an_awaiting_dead_letter_blocks_its_manifest',
    plant: async (world) => {
      const manifestId = await world.manifest();
      const { id } = await world.admitted({ manifest_id: manifestId, ...failed });
      await world.deadLetter({ manifest_id: manifestId, execution_id: id, run_id: id, created_at: failed.finished_at });
      return `execution ${(await world.admitted({ manifest_id: manifestId, created_at: failed.finished_at })).id}`;
    },
  },
  {
    what: 'an execution that was admitted long after its manifest was reaped',
    invariant: 'an_awaiting_dead_letter_blocks_its_manifest',
    plant: async (world) => {
      const manifestId = await world.manifest();
      const { id } = await world.admitted({ manifest_id: manifestId, ...failed, finished_at: ago(900) });
      await world.deadLetter({ manifest_id: manifestId, execution_id: id, run_id: id, created_at: ago(600) });
      return `execution ${(await world.admitted({ manifest_id: manifestId, created_at: ago(60) })).id}`;
    },
  },
  {
    what: 'an edge that has consumed more than its parent achieved',
    invariant: 'a_dependent_never_consumes_more_successes_than_its_parent_had',
    plant: async (world) => {
      const parentId = await world.manifest({ success_count: 3, last_successful_run: ago(60) });
      const childId = await world.dependent([{ id: parentId, consumed: 4 }]);
      const [child, parent] = [await nameOf(world, 'manifest', childId), await nameOf(world, 'manifest', parentId)];
      return `edge ${child} ← ${parent}`;
    },
  },
  {
    what: 'a dormant dependent that its edge has queued',
    invariant: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
    plant: async (world) => {
      const manifestId = await world.dependent([{ id: await world.manifest() }], { ...dormant, created_at: NOW, updated_at: NOW });
      return `entry ${await world.entry({ manifest_id: manifestId, origin: 'dependency' })}`;
    },
  },
  {
    what: 'a dormant dependent that runs for a schedule',
    invariant: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
    plant: async (world) => {
      const manifestId = await world.dependent([{ id: await world.manifest() }], { ...dormant, updated_at: ago(600) });
      return `execution ${(await world.admitted({ manifest_id: manifestId, origin: 'schedule' })).id}`;
    },
  },
  {
    what: 'a dormant dependent that a run of another manifest has activated',
    invariant: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
    plant: async (world) => {
      const manifestId = await world.dependent([{ id: await world.manifest() }], { ...dormant, created_at: NOW, updated_at: NOW });
      const stranger = await world.admitted({ manifest_id: await world.manifest(), state: 'in_progress', started_at: ago(20), ...lease() });
      const activated = { origin: 'activation', initiator_type: 'execution', initiator_id: String(stranger.id) };
      return `entry ${await world.entry({ manifest_id: manifestId, ...activated })}`;
    },
  },
  {
    what: 'a dormant dependent that runs by an activation of nobody',
    invariant: 'a_dormant_dependent_runs_only_when_it_is_activated_or_asked_for',
    plant: async (world) => {
      const manifestId = await world.dependent([{ id: await world.manifest() }], { ...dormant, created_at: NOW, updated_at: NOW });
      const activated = { origin: 'activation', initiator_type: 'user', initiator_id: 'ada' };
      return `execution ${(await world.admitted({ manifest_id: manifestId, ...activated })).id}`;
    },
  },
  {
    what: 'groups that wait for each other, although none of their manifests waits for itself',
    invariant: 'groups_have_no_cycle',
    plant: async (world) => {
      const [one, other] = [await world.group(), await world.group()];
      await world.dependent([{ id: await world.manifest({ group_id: one }) }], { group_id: other });
      await world.dependent([{ id: await world.manifest({ group_id: other }) }], { group_id: one });
      return `group ${await nameOf(world, 'manifest_group', one)}`;
    },
  },
  {
    what: 'a manifest that waits for itself through two others',
    invariant: 'dependencies_have_no_cycle',
    plant: async (world) => {
      const first = await world.dependent([{ id: await world.manifest() }]);
      const second = await world.dependent([{ id: first }]);
      const third = await world.dependent([{ id: second }]);
      await world.dependent([{ id: third }]);
      await world.run('insert into waybill.manifest_dependency (child_id, parent_id) values ($1, $2)', [first, third]);
      return manifestSubject(world, first);
    },
  },
  {
    what: 'a step that is admitted while the group before it runs',
    invariant: 'a_plan_releases_a_group_only_when_the_groups_before_it_are_over',
    plant: async (world) => {
      const step = await plantPlan(world);
      await world.admitted({ ...step(0, 0), state: 'in_progress', started_at: ago(60), ...lease() });
      return `execution ${(await world.admitted(step(1, 0))).id}`;
    },
  },
  {
    what: 'a step that had started before the group before it was over',
    invariant: 'a_plan_releases_a_group_only_when_the_groups_before_it_are_over',
    plant: async (world) => {
      const step = await plantPlan(world);
      await world.admitted({ ...step(0, 0), state: 'completed', started_at: ago(90), finished_at: ago(30) });
      return `execution ${(await world.admitted({ ...step(1, 0), state: 'completed', started_at: ago(60), finished_at: ago(20) })).id}`;
    },
  },
  {
    what: 'a step that waits although its plan has ended',
    invariant: 'a_step_is_queued_only_in_the_present_group_of_a_plan_that_runs',
    plant: async (world) => {
      const step = (await plantPlan(world))(0, 0);
      await world.run(`update waybill.execution set state = 'cancelled', finished_at = $2 where id = $1`, [step.parent_id, ago(10)]);
      return `execution ${await world.execution({ ...step, state: 'waiting' })}`;
    },
  },
  {
    what: 'a step in the queue whose group its plan has not come to',
    invariant: 'a_step_is_queued_only_in_the_present_group_of_a_plan_that_runs',
    plant: async (world) => {
      const step = await plantPlan(world);
      await world.admitted(step(0, 0));
      const early = await world.execution({ ...step(1, 0), state: 'waiting' });
      await world.entry({ execution_id: early, origin: 'plan' });
      return `execution ${early}`;
    },
  },
];
