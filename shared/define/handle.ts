import type { ManifestHandle } from '../model/manifest-handle.ts';
import type { AnyWorkflow } from '../model/workflow.ts';

/**
 * Names a manifest once, for `dependsOn` and for `ctx.dormant.activate(handle, input)`: `const bronze = handle(cacheBronze, 'bronze-orders-1')`. It declares
 * nothing: the manifest itself is declared with the builder, by this app or by another.
 */
export function handle<Of extends AnyWorkflow>(workflow: Of, externalId: string): ManifestHandle<Of> {
  return { externalId, workflow };
}
