import { beforeEach } from 'vitest';
import { type Client, type ClientOptions, createClient } from '../../shared/client/client.ts';
import { createLogger } from '../../shared/observability/log.ts';
import { ask } from '../functions/api/use-api.ts';
import { clear, type Engine, useEngine } from '../support/engine.ts';

export const START = '2026-03-02T00:00:00.000Z';

export type Way = 'database' | 'http';

/** The engine, empty at the beginning of every test but for the workflow `work`, and clients that reach it both ways. */
export function useClients(): { engine: Engine; connect(way: Way): Client } {
  const engine = useEngine({ startAt: START });
  beforeEach(async () => {
    engine.clock.set(START);
    Object.assign(engine.doorbell, { dispatcherPokes: 0 });
    engine.doorbell.bells.length = 0;
    engine.doorbell.managerPokes.length = 0;
    await clear(engine);
    await engine.sync([{ externalId: 'of-the-app', schedule: { type: 'none' } }]);
  });
  return { engine, connect: (way) => createClient(optionsOf(way, engine)) };
}

function optionsOf(way: Way, { database, doorbell }: Engine): ClientOptions {
  if (way === 'database') return { database, doorbell, initiator: { id: 'ada' } };
  return { url: 'http://api.example.com/', fetch: fetchFrom({ database, doorbell }) };
}

/** The API's own handler in place of the network, with what API Gateway does to a request on its way. */
function fetchFrom({ database, doorbell }: Pick<Engine, 'database' | 'doorbell'>): typeof fetch {
  const silent = createLogger('api', () => {});
  return async (url, { method, headers, body } = {}) => {
    const path = decodeURIComponent(new URL(String(url)).pathname);
    const request = {
      method,
      headers: headers as Record<string, string>,
      ...(body ? { body: String(body) } : {}),
      userArn: 'arn:aws:iam::1:user/ada',
    };
    const reply = await ask(database, path, request, silent, doorbell);
    return new Response(reply.text, { status: reply.status, headers: reply.headers as Record<string, string> });
  };
}
