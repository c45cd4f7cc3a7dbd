import { ConflictError, DatabaseError, InvalidInputError, messageOf, NotFoundError, WaybillError } from '../errors.ts';
import type { Transport } from './transport.ts';

export interface HttpTransportOptions {
  /** Where the API answers, without `/v1`. */
  url: string;
  /** Sends requests; one that signs them, for a deployed API. */
  fetch?: typeof globalThis.fetch;
  headers?: Record<string, string>;
}

/** API Gateway gives up before. */
const TIMEOUT_MILLISECONDS = 35_000;

/** Asks over the HTTP API. */
export function createHttpTransport({ url, fetch = globalThis.fetch, headers = {} }: HttpTransportOptions): Transport {
  const root = url.replace(/\/+$/, '');

  async function ask<Answer>(method: string, at: string, body?: unknown): Promise<Answer> {
    const response = await send(method, at, body);
    const text = await response.text();
    if (!response.ok) throw toError(response.status, text, `${method} ${at}`);
    return JSON.parse(text) as Answer;
  }

  async function send(method: string, at: string, body: unknown): Promise<Response> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const contentType: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
      return await fetch(`${root}${at}`, { method, headers: { ...headers, ...contentType }, ...json, signal });
    } catch (error) {
      throw new WaybillError('api_unreachable', `${method} ${root}${at} was not answered: ${messageOf(error)}`, {
        retryable: true,
        cause: error,
      });
    }
  }

  return {
    put: async (manifests) => (await ask<{ items: Awaited<ReturnType<Transport['put']>> }>('PUT', '/v1/manifests', { manifests })).items,
    trigger: async (externalId, options) => ask('POST', `${pathOf.manifest(externalId)}/trigger`, options),
    run: async (workflow, input, options) => ask('POST', `${pathOf.workflow(workflow)}/run`, { input, ...options }),
    cancel: async (executionId) => ask('POST', `${pathOf.execution(executionId)}/cancel`),
    enable: async (externalId) => void (await ask('POST', `${pathOf.manifest(externalId)}/enable`)),
    disable: async (externalId) => void (await ask('POST', `${pathOf.manifest(externalId)}/disable`)),
    remove: async (externalId) => ask('DELETE', pathOf.manifest(externalId)),
    close: async () => {},
  };
}

/** A name with an empty part would lead to another route, and so would a slash in an id. Nothing is called so, which is what the operations say of it. */
const pathOf = {
  manifest: (id: string) =>
    path('/v1/manifests', [id], 'manifest_not_found', `manifest '${id}' does not exist: GET /v1/manifests lists those that do`),
  execution: (id: string) =>
    path('/v1/executions', [id], 'execution_not_found', `execution '${id}' does not exist: GET /v1/executions lists those that do`),
  workflow: (name: string) =>
    path(
      '/v1/workflows',
      name.split('/'),
      'workflow_not_found',
      `workflow '${name}' is not deployed: GET /v1/workflows lists those that are`,
    ),
};

/** Only the names of built-in workflows have several parts, as in `waybill/http`. */
function path(parent: string, parts: string[], code: string, message: string): string {
  if (parts.some((part) => part === '' || part.includes('/') || !part.isWellFormed())) throw new NotFoundError(code, message);
  return `${parent}/${parts.map(encodeURIComponent).join('/')}`;
}

/** The error that the operation itself would have raised. */
function toError(status: number, text: string, request: string): WaybillError {
  const { code, detail } = readProblem(text);
  if (code === undefined || detail === undefined) {
    const told = text.slice(0, 200) || 'no text';
    return new WaybillError(`http_${status}`, `${request} was answered with ${status}: ${told}`, {
      retryable: status === 429 || status >= 500,
    });
  }
  if (status === 404) return new NotFoundError(code, detail);
  if (status === 409 || status === 412) return new ConflictError(code, detail);
  if (status === 503) return new DatabaseError(code, detail, { retryable: true });
  if (status < 500) return new InvalidInputError(code, detail);
  return new WaybillError(code, detail);
}

function readProblem(text: string): { code?: string; detail?: string } {
  try {
    const { code, detail } = JSON.parse(text) as { code?: unknown; detail?: unknown };
    return typeof code === 'string' && typeof detail === 'string' ? { code, detail } : {};
  } catch {
    return {};
  }
}
