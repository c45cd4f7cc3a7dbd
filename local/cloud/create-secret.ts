import type { Deployment } from './deployment.ts';

/** A secret whose value the template states. A generated one has no value that anybody here could know, and is reported by name. */
export function createSecret({ resolver, secrets }: Deployment, logicalId: string): 'not_run' | undefined {
  const { properties } = resolver.resolveResource(logicalId);
  if (typeof properties.SecretString !== 'string') return 'not_run';
  secrets.put(String(resolver.ref(logicalId)), properties.SecretString);
  return undefined;
}
