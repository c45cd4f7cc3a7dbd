import type { AppDefinition } from '../../shared/index.ts';
import { BundleError } from '../bundle/bundle-error.ts';

/** Refuses an app that names a pool the stack does not have: its work would be queued and never admitted. All such names are reported together. */
export function checkPools({ workflows, manifests }: Pick<AppDefinition, 'workflows' | 'manifests'>, poolNames: readonly string[]): void {
  const users = [
    ...workflows.map(({ name, pool }) => ({ user: `workflow '${name}'`, pool })),
    ...manifests.map(({ externalId, pool }) => ({ user: `manifest '${externalId}'`, pool })),
  ];
  const lost = users.filter(({ pool }) => pool !== undefined && !poolNames.includes(pool));
  if (lost.length === 0) return;
  throw new BundleError(
    'invalid_stack',
    [
      `the app uses pools that this stack does not have (it has ${poolNames.join(', ')}); add them to pools or name another:`,
      ...lost.map(({ user, pool }) => `- ${user} runs in pool '${pool}'`),
    ].join('\n'),
  );
}
