import { ago, stepOf, type World } from './world.ts';

export interface PlantedViolation {
  /** What is planted, as the rest of the sentence "sees …". */
  what: string;
  /** The name of the invariant that must catch it. */
  invariant: string;
  /** Plants it into the healthy world and gives the subject that must be named. */
  plant: (world: World) => Promise<string>;
}

/** The name that people know a row under. */
export async function nameOf(world: World, table: 'manifest' | 'manifest_group', id: number): Promise<string> {
  const column = table === 'manifest' ? 'external_id' : 'name';
  const [row] = await world.query<{ name: string }>({ text: `select ${column} as name from waybill.${table} where id = $1`, values: [id] });
  return row!.name;
}

export async function manifestSubject(world: World, id: number): Promise<string> {
  return `manifest ${await nameOf(world, 'manifest', id)}`;
}

/** A plan of two groups that runs for an hour, without steps; gives what a step at a place of it needs. */
export async function plantPlan(world: World): Promise<ReturnType<typeof stepOf>> {
  const plan = await world.admitted({
    manifest_id: await world.manifest({ kind: 'plan' }),
    workflow_name: null,
    state: 'in_progress',
    created_at: ago(3_600),
    group_count: 2,
    current_group_index: 0,
  });
  return stepOf(plan.id);
}
