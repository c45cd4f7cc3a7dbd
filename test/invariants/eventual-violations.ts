import { manifestSubject, type PlantedViolation, plantPlan } from './planted-violation.ts';
import { ago, ahead, type Columns, lease } from './world.ts';

/** At least one per invariant that holds eventually, each a little older than its grace. */
export const eventualViolations: PlantedViolation[] = [
  {
    what: 'a pending execution whose bell was never sent',
    invariant: 'a_pending_execution_is_rung_again',
    plant: async (world) => `execution ${(await world.admitted({ created_at: ago(200), sent_at: null })).id}`,
  },
  {
    what: 'a pending execution that was not rung again after its last wait',
    invariant: 'a_pending_execution_is_rung_again',
    plant: async (world) => `execution ${(await world.admitted({ created_at: ago(3_600), sent_at: ago(430), ring_count: 9 })).id}`,
  },
  {
    what: 'a run whose lease expired and that nobody ended',
    invariant: 'a_run_whose_lease_expired_is_ended',
    plant: async (world) =>
      `execution ${(await world.admitted({ state: 'in_progress', started_at: ago(600), ...lease(), lease_expires_at: ago(130) })).id}`,
  },
  {
    what: 'a manifest that stays due',
    invariant: 'a_due_manifest_is_looked_at',
    plant: async (world) => {
      const cron = { schedule_type: 'cron', cron_expression: '* * * * *', time_zone: 'UTC' };
      return manifestSubject(world, await world.manifest({ ...cron, next_occurrence_at: ago(130), next_due_at: ago(130) }));
    },
  },
  {
    what: 'a dependent that nothing looks at although all of its parents have succeeded',
    invariant: 'no_dependent_is_ahead_of_its_edges_and_forgotten',
    plant: async (world) => {
      const parent = { id: await world.manifest({ success_count: 2, last_successful_run: ago(600) }), consumed: 1 };
      return manifestSubject(world, await world.dependent([parent]));
    },
  },
  {
    what: 'a dependent that nothing looks at although any of its parents has succeeded',
    invariant: 'no_dependent_is_ahead_of_its_edges_and_forgotten',
    plant: async (world) => {
      const parent = { id: await world.manifest({ success_count: 1, last_successful_run: ago(600) }) };
      return manifestSubject(world, await world.dependent([parent, { id: await world.manifest() }], { dependency_mode: 'any' }));
    },
  },
  {
    what: 'a once that was held and whose hold ended unseen',
    invariant: 'no_timed_manifest_has_an_occurrence_and_is_forgotten',
    plant: async (world) =>
      manifestSubject(world, await world.manifest({ schedule_type: 'once', run_at: ago(600), next_occurrence_at: ago(600) })),
  },
  {
    what: 'an interval that lost its place in the schedule',
    invariant: 'no_timed_manifest_has_an_occurrence_and_is_forgotten',
    plant: async (world) => {
      const interval = { schedule_type: 'interval', interval_seconds: 60, anchor: 'completion' };
      return manifestSubject(world, await world.manifest({ ...interval, next_occurrence_at: ahead(30) }));
    },
  },
  {
    what: 'a plan whose group is over and that was not advanced',
    invariant: 'a_plan_advances',
    plant: async (world) => {
      const step = await plantPlan(world);
      await world.admitted({ ...step(0, 0), state: 'completed', started_at: ago(900), finished_at: ago(600) });
      await world.execution({ ...step(1, 0), state: 'waiting' });
      return `execution ${step(0, 0).parent_id}`;
    },
  },
  {
    what: 'a plan whose released step has no entry',
    invariant: 'a_plan_advances',
    plant: async (world) => {
      const step = await plantPlan(world);
      await world.execution({ ...step(0, 0), state: 'waiting' });
      return `execution ${step(0, 0).parent_id}`;
    },
  },
  {
    what: 'an entry that waits although its group and its pool have room',
    invariant: 'no_entry_waits_while_there_is_room_for_it',
    plant: async (world) => {
      return `entry ${await world.entry({ pool: 'elsewhere', available_at: ago(610), manifest_id: await world.manifest() })}`;
    },
  },
  {
    what: 'a plan that waits although it needs no room, in a full group of a full whole',
    invariant: 'no_entry_waits_while_there_is_room_for_it',
    plant: async (world) => {
      const groupId = await world.group({ max_active_jobs: 1 });
      await world.admitted({ group_id: groupId });
      const live = `state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null`;
      await world.run(`update waybill.capacity set max_active_jobs = (select count(*) from waybill.execution where ${live})`);
      const manifestId = await world.manifest({ kind: 'plan', group_id: groupId });
      return `entry ${await world.entry({ workflow_name: null, manifest_id: manifestId, group_id: groupId, available_at: ago(610) })}`;
    },
  },
  {
    what: 'a step of a plan that waits although there is room for it',
    invariant: 'no_entry_waits_while_there_is_room_for_it',
    plant: async (world) => {
      const step = await plantPlan(world);
      const id = await world.execution({ ...step(0, 0), state: 'waiting' });
      const [plan] = await world.query<Columns>({ text: 'select * from waybill.execution where id = $1', values: [step(0, 0).parent_id] });
      const entry = { execution_id: id, manifest_id: plan!.manifest_id, pool: 'elsewhere', available_at: ago(610), origin: 'plan' };
      return `entry ${await world.entry(entry)}`;
    },
  },
  {
    what: 'a retiring manifest whose last run is over',
    invariant: 'a_retiring_manifest_is_deleted_with_its_last_run',
    plant: async (world) => manifestSubject(world, await world.manifest({ retiring_at: ago(600) })),
  },
];
