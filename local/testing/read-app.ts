import type { App } from '../../shared/define/app.ts';
import type { AppDefinition } from '../../shared/define/definition.ts';
import { InvalidInputError } from '../../shared/errors.ts';
import type { PoolSettings } from '../../shared/settings.ts';

/** What a deployment would read from `manifests.json`: it has passed through JSON. Raises all mistakes of the app together. */
export async function readDefinition(app: App): Promise<AppDefinition> {
  if (typeof app?.toDefinition !== 'function')
    throw new InvalidInputError(
      'not_an_app',
      `the test kit was given ${app === null ? 'null' : typeof app}: give it what \`app({ name, workflows, manifests })\` made`,
    );
  return JSON.parse(JSON.stringify(await app.toDefinition()));
}

/** Large enough that no test waits for a pool: what limits admission are groups. */
const POOL: PoolSettings = { queueUrl: 'test-kit', concurrency: 1_000, batchSize: 1 };

/** Every pool that the app names, as if it were deployed. */
export function poolsOf({ workflows, manifests }: AppDefinition): Record<string, PoolSettings> {
  const names = [
    'default',
    ...workflows.map(({ pool }) => pool),
    ...manifests.flatMap(({ pool, steps = [] }) => [pool, ...steps.flat().map((step) => step.pool)].filter((name) => name !== undefined)),
  ];
  return Object.fromEntries(names.map((name) => [name, POOL]));
}
