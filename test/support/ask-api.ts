import type { ExecutionDescription } from '../../shared/operations/describe-execution.ts';
import type { ManifestDescription } from '../../shared/operations/describe-manifest.ts';
import type { Page } from '../../shared/operations/paging.ts';

/** The body of a successful answer. */
export async function askApi<Answer>(apiUrl: string, path: string): Promise<Answer> {
  const response = await fetch(new URL(path, apiUrl));
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Answer;
}

/** The latest two hundred executions, the newest first; with a query like `manifest=x` only those that match. */
export async function listExecutions(apiUrl: string, query = ''): Promise<ExecutionDescription[]> {
  return (await askApi<Page<ExecutionDescription>>(apiUrl, `/v1/executions?limit=200&${query}`)).items;
}

export async function listManifests(apiUrl: string): Promise<ManifestDescription[]> {
  return (await askApi<Page<ManifestDescription>>(apiUrl, '/v1/manifests?limit=200')).items;
}
