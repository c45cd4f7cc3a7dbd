import { z } from 'zod';
import { type AppDefinition, app, InvalidAppError, type Scheduler, workflow } from '../../shared/index.ts';

export const copy = workflow({ name: 'copy', input: z.object({ table: z.string(), limit: z.number().optional() }), run: () => null });
export const plain = workflow({ name: 'plain', input: z.unknown(), run: () => null });

export function define(manifests: (scheduler: Scheduler) => void): Promise<AppDefinition> {
  return app({ name: 'etl', workflows: [copy, plain], manifests }).toDefinition();
}

/** What is wrong with an app that must be refused. */
export async function mistakesOf(defining: Promise<unknown>): Promise<readonly string[]> {
  const error = await defining.catch((caught: unknown) => caught);
  if (error instanceof InvalidAppError) return error.mistakes;
  throw new Error(`the app was not refused: ${error}`);
}

/** The parents of each manifest, by id; null for one that is not a dependent. */
export function parentsOf({ manifests }: AppDefinition): Record<string, string[] | null> {
  return Object.fromEntries(manifests.map(({ externalId, schedule }) => [externalId, 'dependsOn' in schedule ? schedule.dependsOn : null]));
}
