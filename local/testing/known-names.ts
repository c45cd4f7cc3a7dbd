import type { AppDefinition } from '../../shared/define/definition.ts';
import { NotFoundError } from '../../shared/errors.ts';
import type { ManifestReference } from './test-kit.ts';

/** The names that a test may use. A misspelt one is refused: a list that is empty because of it would let the test pass. */
export interface KnownNames {
  manifest(reference: ManifestReference): string;
  workflow(name: string): string;
}

const MOST_NAMED = 20;

export function knownNames({ name: app, manifests, workflows }: AppDefinition): KnownNames {
  const find = (kind: string, known: string[]) => {
    const names = new Set(known);
    return (name: string) => {
      if (names.has(name)) return name;
      const more = known.length > MOST_NAMED ? `, and ${known.length - MOST_NAMED} more` : '';
      const declared = known.slice(0, MOST_NAMED).join(', ') || 'none';
      throw new NotFoundError(`${kind}_not_found`, `${kind} '${name}' does not exist: app '${app}' declares ${declared}${more}`);
    };
  };
  const findManifest = find(
    'manifest',
    manifests.map(({ externalId }) => externalId),
  );
  return {
    manifest: (reference) => findManifest(typeof reference === 'string' ? reference : reference.externalId),
    workflow: find(
      'workflow',
      workflows.map(({ name }) => name),
    ),
  };
}
