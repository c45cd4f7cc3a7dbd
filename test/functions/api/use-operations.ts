import { beforeEach } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import { createLogger } from '../../../shared/observability/log.ts';
import { clear, type Engine, useEngine, workflowNamed } from '../../support/engine.ts';
import type { HttpRequest } from './http-event.ts';
import { ask, type Reply } from './use-api.ts';

export const START = '2026-03-02T00:00:00.000Z';
const OPERATOR = 'arn:aws:sts::123456789012:assumed-role/operators/ada';

export interface Operations {
  engine: Engine;
  get(path: string, request?: HttpRequest): Promise<Reply>;
  /** Asks as the operator, with a JSON body if one is given. */
  post(path: string, body?: unknown, request?: HttpRequest): Promise<Reply>;
  patch(path: string, body?: unknown, request?: HttpRequest): Promise<Reply>;
  put(path: string, body?: unknown, request?: HttpRequest): Promise<Reply>;
  remove(path: string, body?: unknown, request?: HttpRequest): Promise<Reply>;
  /** What was written down about which person did what, the oldest first. */
  audit(): Promise<{ action: string; target: string; name: string; before: unknown; after: unknown }[]>;
  /** How often each bell was rung since the last time it was asked. */
  takePokes(): { dispatcher: number; manager: number };
  /** Declares manifests whose only attempt fails, and nothing else; gives the ids of their dead letters, in the same order. */
  plantDeadLetters(...externalIds: string[]): Promise<string[]>;
}

/** The API over the real engine: every test begins at {@link START} with empty tables, and ends with the invariants checked. */
export function useOperations(): Operations {
  const engine = useEngine({ startAt: START });
  const { doorbell } = engine;
  const silent = createLogger('api', () => {});
  const send =
    (method: string) =>
    (path: string, body?: unknown, request: HttpRequest = {}) => {
      const json = body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      const headers = { ...json.headers, ...request.headers };
      return ask(engine.database, path, { method, userArn: OPERATOR, ...json, ...request, headers }, silent, doorbell);
    };
  const takePokes = () => {
    const taken = { dispatcher: doorbell.dispatcherPokes, manager: doorbell.managerPokes.length };
    doorbell.dispatcherPokes = 0;
    doorbell.managerPokes.length = 0;
    return taken;
  };
  beforeEach(async () => {
    engine.clock.set(START);
    doorbell.bells.length = 0;
    takePokes();
    await clear(engine);
  });
  return {
    engine,
    get: (path, request) => ask(engine.database, path, request, silent, doorbell),
    post: send('POST'),
    patch: send('PATCH'),
    put: send('PUT'),
    remove: send('DELETE'),
    audit: () =>
      engine.rows(sql`
        select action, target, initiator_name as name, before, after from waybill.audit_event where initiator_type = 'user' order by id`),
    takePokes,
    plantDeadLetters: async (...externalIds) => {
      await engine.sync(
        externalIds.map((externalId) => ({ externalId, input: { of: externalId }, maxAttempts: 1, schedule: { type: 'none' } })),
      );
      for (const externalId of externalIds) {
        await send('POST')(`/v1/manifests/${externalId}/trigger`);
        await engine.dispatch();
        await engine.deliver([workflowNamed('work', () => Promise.reject(new Error('broken')))]);
      }
      const letters = await engine.rows<{ id: string }>(sql`select id::text from waybill.dead_letter order by dead_letter.id`);
      takePokes();
      await engine.database.query(sql`truncate waybill.audit_event`);
      return letters.map(({ id }) => id);
    },
  };
}
