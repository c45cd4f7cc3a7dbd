import { beforeAll, describe, expect, it } from 'vitest';
import { invariants } from '../../shared/db/invariants/index.ts';
import { auditInvariants } from '../../shared/housekeeping/audit-invariants.ts';
import { useDatabase } from '../support/database.ts';
import { alwaysViolations } from './always-violations.ts';
import { eventualViolations } from './eventual-violations.ts';
import { plantHealthyWorld } from './healthy-world.ts';
import type { PlantedViolation } from './planted-violation.ts';
import { ago, inWorld, type World } from './world.ts';

const server = useDatabase();
beforeAll(() => inWorld(server.pool, plantHealthyWorld, 'commit'));

it('a healthy world has no violation', async () => {
  expect((await inWorld(server.pool, (world) => auditInvariants(world), 'rollback')).violations).toEqual([]);
});

describe('what is legitimate for a while', () => {
  const waiting = { pool: 'quiet', available_at: ago(3_600) };
  const variations: { what: string; plant: (world: World) => Promise<unknown> }[] = [
    {
      what: 'the whole is overfull because its capacity was lowered',
      plant: (world) => world.run('update waybill.capacity set max_active_jobs = 2, updated_at = $1', [ago(5)]),
    },
    {
      what: 'an entry waits because everything is paused',
      plant: async (world) => {
        await world.run('update waybill.capacity set is_paused = true, updated_at = $1', [ago(7_200)]);
        await world.entry(waiting);
      },
    },
    {
      what: 'an entry waits because the whole is full',
      plant: async (world) => {
        const live = `state in ('pending', 'in_progress') and work_queue_id is not null and group_count is null`;
        await world.run(`update waybill.capacity set max_active_jobs = (select count(*) from waybill.execution where ${live})`);
        await world.entry(waiting);
      },
    },
    {
      what: 'an entry waits although everything was just unpaused',
      plant: async (world) => {
        await world.run('update waybill.capacity set updated_at = $1', [ago(10)]);
        await world.entry(waiting);
      },
    },
    {
      what: 'an entry waits although its group was just enabled',
      plant: async (world) => world.entry({ ...waiting, group_id: await world.group({ updated_at: ago(10) }) }),
    },
    {
      what: 'an entry waits although a slot of its group has just become free',
      plant: async (world) => {
        const groupId = await world.group({ max_active_jobs: 1 });
        await world.admitted({ group_id: groupId, state: 'completed', created_at: ago(300), started_at: ago(290), finished_at: ago(10) });
        await world.entry({ ...waiting, group_id: groupId });
      },
    },
    {
      what: 'an entry waits although the last run of its manifest has just ended',
      plant: async (world) => {
        const manifestId = await world.manifest();
        await world.admitted({ manifest_id: manifestId, state: 'completed', created_at: ago(300), finished_at: ago(10) });
        await world.entry({ ...waiting, manifest_id: manifestId });
      },
    },
    {
      what: 'an entry waits although the dead letter of its manifest was just resolved',
      plant: async (world) => {
        const manifestId = await world.manifest();
        const id = await world.execution({ state: 'failed', failure_code: 'thrown', finished_at: ago(900) });
        await world.deadLetter({ manifest_id: manifestId, execution_id: id, status: 'acknowledged', resolved_at: ago(10) });
        await world.entry({ ...waiting, manifest_id: manifestId });
      },
    },
    {
      what: 'a run that was handed back is pending without a bell',
      plant: (world) => world.admitted({ created_at: ago(3_600), sent_at: null, started_at: ago(3_590), running_ms: 3_560_000 }),
    },
  ];

  it.each(variations)('$what', async ({ plant }) => {
    const audit = (world: World) => plant(world).then(() => auditInvariants(world));
    expect((await inWorld(server.pool, audit, 'rollback')).violations).toEqual([]);
  });
});

/** The planted row, and nothing of the healthy world around it, is named. */
async function expectCaught({ invariant, plant }: PlantedViolation): Promise<void> {
  const { subject, violations } = await inWorld(
    server.pool,
    async (world) => ({ subject: await plant(world), violations: (await auditInvariants(world)).violations }),
    'rollback',
  );
  const named = violations.filter(({ name }) => name === invariant);
  expect(named.map((violation) => violation.subject)).toContain(subject);
  expect(named.length).toBeLessThanOrEqual(invariant.endsWith('_have_no_cycle') ? 3 : 1);
}

describe('what must always hold', () => {
  it.each(alwaysViolations)('sees $what', expectCaught);
});

describe('what must hold eventually', () => {
  it.each(eventualViolations)('sees $what', expectCaught);
});

it('every invariant has a violation that it catches, of its own kind', () => {
  const caught = (violations: PlantedViolation[]) => [...new Set(violations.map(({ invariant }) => invariant))].sort();
  const named = (kind: string) =>
    invariants
      .filter((invariant) => invariant.kind === kind)
      .map(({ name }) => name)
      .sort();
  expect(caught(alwaysViolations)).toEqual(named('always'));
  expect(caught(eventualViolations)).toEqual(named('eventually'));
});

it('every eventual invariant has a grace, and every statement is bounded', () => {
  for (const { kind, graceSeconds, statement } of invariants) {
    expect(statement.text).toMatch(/limit 100$/);
    expect(graceSeconds === undefined).toBe(kind === 'always');
  }
});
