import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { sql } from '../../shared/db/sql.ts';
import type { ScheduleDefinition } from '../../shared/define/definition.ts';
import { activate } from '../../shared/dormant/activate.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import type { Activation, ActivationRequest, ActivationResult, Capability } from '../../shared/model/dormant.ts';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { trigger } from '../../shared/operations/trigger.ts';
import { endRuns, type FinalState } from '../../shared/transitions/end-runs.ts';
import { type Declared, none, useWorld, type World } from '../engine/use-world.ts';

export const dormantBelow = (...dependsOn: string[]): ScheduleDefinition => ({ type: 'dormant_dependent', dependsOn, mode: 'all' });

/** A manifest that runs when it is triggered, and has dormant dependents. */
export const parent: Declared = { externalId: 'parent', schedule: none };
export const child: Declared = { externalId: 'child', schedule: dormantBelow('parent'), input: { own: true } };

export interface Dormants extends World {
  /** Admits and claims a run of the manifest, and leaves it running. */
  begin(externalId?: string): Promise<Capability>;
  /** Admits what is queued, of which there must be one, claims it and leaves it running. */
  claim(): Promise<Capability>;
  /** Ends a run as its lease holder would. */
  end(capability: Capability, state?: FinalState): Promise<void>;
  /** Asks from outside, with a capability. */
  activate(capability: Capability, activations: Activation[], request?: Pick<ActivationRequest, 'key'>): Promise<ActivationResult[]>;
  /** Every recorded step of a run, in order. */
  steps(capability: Capability): Promise<{ name: string; state: string; output: unknown }[]>;
  /** Nothing was activated by anybody, nothing recorded in this run, and nobody was poked. */
  expectNothing(capability?: Capability): Promise<void>;
}

/** The engine, with running parents whose capability the test holds. */
export function useDormants(): Dormants {
  const world = useWorld() as Dormants;
  world.claim = async () => {
    await world.dispatch();
    const ids = world.doorbell.bells.splice(0).map(({ executionId }) => executionId);
    const leaseToken = randomUUID();
    const { claimed } = await claimExecutions(world.database, {
      ids,
      leaseToken,
      leaseSeconds: 45,
      requestId: leaseToken,
      logStream: 'test',
    });
    if (claimed.length !== 1) throw new Error(`one run should have begun, not ${claimed.length}`);
    world.doorbell.dispatcherPokes = 0;
    return { executionId: String(claimed[0]!.id), leaseToken };
  };
  world.begin = async (externalId = 'parent') => {
    await trigger(world.context, { externalId });
    return world.claim();
  };
  world.end = async ({ executionId, leaseToken }, state = 'completed') => {
    const failure = state === 'failed' ? { code: 'thrown', message: 'no' } : undefined;
    const outcome = { executionId: Number(executionId) as ExecutionId, leaseToken, state, ...(failure && { failure }) };
    await world.database.transaction((db) => endRuns(db, [outcome]));
  };
  world.activate = (capability, activations, request = {}) =>
    activate({ database: world.database, doorbell: world.doorbell }, { ...capability, activations, ...request });
  world.steps = ({ executionId }) =>
    world.rows(sql`
      select s.name, s.state, s.output from waybill.execution_step s join waybill.execution e on e.run_id = s.run_id
       where e.id = ${executionId}::bigint order by s.sequence, s.id`);
  world.expectNothing = async (capability) => {
    expect(await world.rows(sql`select id from waybill.work_queue where origin = 'activation'`)).toEqual([]);
    if (capability) expect(await world.steps(capability)).toEqual([]);
    expect(world.doorbell.dispatcherPokes).toBe(0);
  };
  return world;
}
