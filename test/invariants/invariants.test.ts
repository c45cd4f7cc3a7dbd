import { beforeAll, describe, expect, it } from 'vitest';
import { invariants } from '../../shared/db/invariants/index.ts';
import { auditInvariants } from '../../shared/housekeeping/audit-invariants.ts';
import { useDatabase } from '../support/database.ts';
import { alwaysViolations } from './always-violations.ts';
import { eventualViolations } from './eventual-violations.ts';
import { plantHealthyWorld } from './healthy-world.ts';
import type { PlantedViolation } from './planted-violation.ts';
import { inWorld } from './world.ts';

const server = useDatabase();
beforeAll(() => inWorld(server.pool, plantHealthyWorld, 'commit'));

it('a healthy world has no violation', async () => {
  expect((await inWorld(server.pool, (world) => auditInvariants(world), 'rollback')).violations).toEqual([]);
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
  expect(named.length).toBeLessThanOrEqual(invariant === 'dependencies_have_no_cycle' ? 3 : 1);
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
