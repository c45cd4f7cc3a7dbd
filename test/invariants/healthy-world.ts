import { ago, ahead, lease, stepOf, type World } from './world.ts';

const failed = { state: 'failed', failure_code: 'thrown', finished_at: ago(900) };
/** Available for long, in a pool that has room: only what a test says about it keeps it back. */
const waiting = { available_at: ago(3_600), pool: 'quiet' };

/**
 * One of everything that is legitimate, much of it close to what is not: full groups, a limit that was lowered below what is live, blocked and held
 * manifests, work that waits for its instant, plans half way, sleepers. No invariant may say a word about it.
 */
export async function plantHealthyWorld(world: World): Promise<void> {
  await world.run(`insert into waybill.deployment (owner, definition_hash) values ('test', 'hash')`);
  await world.run(
    `insert into waybill.workflow (name, owner, pool, deployment_version) select 'work', 'test', 'default', max(version) from waybill.deployment`,
  );
  await plantCapacity(world);
  await plantRuns(world);
  await plantDependents(world);
  await plantTimed(world);
  await plantPlan(world);
}

async function plantCapacity(world: World): Promise<void> {
  const full = await world.group({ max_active_jobs: 2 });
  await world.admitted({ group_id: full });
  await world.admitted({ group_id: full, state: 'in_progress', started_at: ago(5), ...lease() });
  await world.entry({ ...waiting, group_id: full });
  await world.entry({ ...waiting, pool: 'default' });

  const lowered = await world.group({ max_active_jobs: 1, updated_at: ago(60) });
  for (const seconds of [90, 80, 45]) await world.admitted({ group_id: lowered, created_at: ago(seconds) });

  const disabled = await world.group({ is_enabled: false });
  await world.entry({ ...waiting, group_id: disabled });
}

async function plantRuns(world: World): Promise<void> {
  const retrying = await world.manifest();
  const first = await world.admitted({ manifest_id: retrying, ...failed });
  const second = await world.admitted({ manifest_id: retrying, ...failed, attempt: 2, run_id: first.id });
  await world.entry({ manifest_id: retrying, lane: 'retry', origin: 'retry', attempt: 3, run_id: first.id, available_at: ahead(60) });
  await world.entry({ ...waiting, manifest_id: retrying });

  const blocked = await world.manifest();
  const exhausted = await world.admitted({ manifest_id: blocked, ...failed });
  await world.deadLetter({ manifest_id: blocked, execution_id: exhausted.id, run_id: exhausted.id, created_at: failed.finished_at });
  await world.entry({ ...waiting, manifest_id: blocked });

  const reaped = await world.manifest();
  const former = await world.admitted({ manifest_id: reaped, ...failed });
  await world.deadLetter({ manifest_id: reaped, execution_id: former.id, run_id: former.id, created_at: ago(20) });
  await world.admitted({ manifest_id: reaped, created_at: ago(25) });
  const live = await world.manifest();
  await world.admitted({ manifest_id: live });
  await world.entry({ ...waiting, manifest_id: live });

  const again = await world.admitted(failed);
  const running = { run_id: again.id, attempt: 2, state: 'in_progress', started_at: ago(20), ...lease() };
  const outer = await world.admitted(running);
  await world.execution({ ...running, parent_id: outer.id, root_id: outer.id });

  const sleeper = await world.admitted({ state: 'waiting', started_at: ago(600) });
  await world.entry({ execution_id: sleeper.id, available_at: ahead(600) });
  const nesting = { manifest_id: await world.manifest(), state: 'in_progress', started_at: ago(600), ...lease() };
  const parent = await world.admitted({ ...nesting, created_at: ago(610) });
  await world.execution({ ...nesting, parent_id: parent.id, root_id: parent.id, run_id: parent.id });
  const resting = await world.admitted({ state: 'waiting', started_at: ago(600) });
  await world.entry({ execution_id: resting.id, available_at: ahead(600) });
  const left = { parent_id: resting.id, root_id: resting.id, run_id: resting.id };
  await world.execution({ ...left, state: 'waiting', step_name: 'import', started_at: ago(500) });
  await world.execution({ ...left, ...failed, step_name: 'export' });
  await world.run(
    `insert into waybill.execution_step (execution_id, run_id, name, kind, sequence, state, started_at) values ($1, $1, 'import', 'run', 1, 'running', $2)`,
    [resting.id, ago(500)],
  );
  await world.admitted({ created_at: ago(900), sent_at: ago(200), ring_count: 4 });
  await world.admitted({ state: 'cancelled', finished_at: ago(10) });
  await world.entry({ manifest_id: await world.manifest({ deleted_at: ago(10) }), status: 'cancelled', cancelled_at: ago(10) });
  await world.entry({ run_id: second.id, lane: 'retry', origin: 'dead_letter' });

  const retiring = await world.manifest({ retiring_at: ago(3_600) });
  await world.admitted({ manifest_id: retiring });
}

async function plantDependents(world: World): Promise<void> {
  const succeeded = { success_count: 3, last_successful_run: ago(3_600) };
  const parent = { id: await world.manifest(succeeded) };
  const idle = { id: await world.manifest() };
  await world.dependent([{ ...parent, consumed: 3 }]);
  await world.dependent([parent, idle]);
  await world.dependent([parent], { next_due_at: ago(10) });
  await world.dependent([parent], { is_enabled: false });
  await world.dependent([parent], { quarantine_error: 'what it says cannot be stored' });
  await world.dependent([parent], { group_id: await world.group({ is_enabled: false }) });
  await world.dependent([{ id: await world.manifest({ ...succeeded, is_enabled: false }) }]);
  await world.dependent([{ id: await world.manifest({ ...succeeded, last_successful_run: ago(30) }) }]);
  await world.admitted({ manifest_id: await world.dependent([parent]) });
  await world.entry({ manifest_id: await world.dependent([parent]), origin: 'dependency' });
  await world.deadLetter({ manifest_id: await world.dependent([parent]), execution_id: await world.execution(failed) });

  const dormant = { schedule_type: 'dormant_dependent', dependency_mode: 'all' };
  const asking = await world.admitted({ manifest_id: parent.id, state: 'in_progress', started_at: ago(20), ...lease() });
  const activated = { origin: 'activation', initiator_type: 'execution', initiator_id: String(asking.id) };
  await world.entry({ manifest_id: await world.dependent([parent], dormant), ...activated });
  await world.admitted({ manifest_id: await world.dependent([parent], dormant), ...activated });
  // Its parent's run is gone by now, and this one has lost the parent that had activated it.
  await world.entry({
    manifest_id: await world.dependent([parent], dormant),
    ...activated,
    initiator_id: '999999',
    created_at: ago(200_000),
  });
  const moved = await world.dependent([idle], dormant);
  await world.entry({ manifest_id: moved, ...activated, created_at: ago(60) });
  await world.run(
    `insert into waybill.audit_event (initiator_type, action, target_type, target, before, occurred_at)
     select 'deployment', 'manifest.change', 'manifest', external_id, '{"dependsOn": []}', $2 from waybill.manifest where id = $1`,
    [moved, ago(50)],
  );
  await world.admitted({ manifest_id: await world.dependent([parent], dormant), origin: 'manual' });
  await world.dependent([parent], dormant);
  const becameDormant = await world.dependent([parent], { ...dormant, updated_at: ago(60) });
  await world.entry({ manifest_id: becameDormant, origin: 'dependency', created_at: ago(50) });

  // A diamond on a long chain: many ways up, none of them round.
  let top = await world.manifest();
  for (let depth = 0; depth < 110; depth++) top = await world.dependent([{ id: top }]);
  const left = await world.dependent([{ id: top }]);
  await world.dependent([{ id: left }, { id: await world.dependent([{ id: top }]) }]);
  const gone = await world.dependent([{ id: top }], { deleted_at: ago(3_600) });
  await world.run('insert into waybill.manifest_dependency (child_id, parent_id) values ($1, $2)', [top, gone]);
}

async function plantTimed(world: World): Promise<void> {
  const interval = { schedule_type: 'interval', interval_seconds: 60, anchor: 'occurrence' };
  await world.manifest({ ...interval, next_occurrence_at: ahead(30), next_due_at: ahead(30) });
  await world.manifest({ ...interval, next_occurrence_at: ago(30), next_due_at: ago(30) });
  const resting = await world.manifest({ ...interval, anchor: 'completion', next_occurrence_at: ago(600) });
  await world.admitted({ manifest_id: resting });
  const once = { schedule_type: 'once', run_at: ago(600), next_occurrence_at: ago(600) };
  await world.manifest({
    ...once,
    group_id: await world.group({ is_enabled: false }),
    last_skip_reason: 'group_disabled',
    last_skip_at: ago(600),
  });
  await world.manifest({ ...once, is_enabled: false });
  await world.manifest({ ...once, updated_at: ago(60) });
  await world.manifest({ ...once, next_occurrence_at: null });
}

/** Group 0 is over, group 1 runs: one step is retried, one waits in a disabled group; group 2 is not released. */
async function plantPlan(world: World): Promise<void> {
  const manifestId = await world.manifest({ kind: 'plan' });
  const plan = await world.admitted({
    manifest_id: manifestId,
    workflow_name: null,
    state: 'in_progress',
    created_at: ago(3_600),
    started_at: ago(3_600),
    group_count: 3,
    current_group_index: 1,
  });
  const step = stepOf(plan.id);
  await world.admitted({ ...step(0, 0), state: 'completed', started_at: ago(3_500), finished_at: ago(1_800) });
  await world.admitted({ ...step(1, 0), state: 'failed', failure_code: 'thrown', started_at: ago(1_700), finished_at: ago(1_600) });
  const retry = await world.execution({ ...step(1, 0), attempt: 2, state: 'waiting' });
  await world.entry({ execution_id: retry, available_at: ahead(60), origin: 'plan' });
  const held = await world.execution({ ...step(1, 1), state: 'waiting' });
  await world.entry({ execution_id: held, group_id: await world.group({ is_enabled: false }), ...waiting, origin: 'plan' });
  // Taken over from the plan that this one resumes: it did not run here, so it may be ahead.
  await world.execution({ ...step(2, 1), state: 'completed', started_at: ago(9_000), finished_at: ago(8_000) });
  await world.execution({ ...step(2, 0), state: 'waiting' });
}
