import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Verdict = 'pass' | 'deny' | 'break';

export interface Gatekeeper {
  url: string;
  /** The SQS actions that arrived, with the access key that signed them. */
  requests: { action: string; accessKeyId: string; at: number }[];
  /** How many requests are on their way or waiting for an answer. */
  openCount: number;
  /** What becomes of an action from now on. */
  judge: (action: string) => Verdict;
  close(): Promise<void>;
}

/** Stands between a client and the embedded SQS as the local cloud's permission check does: it sees who asks for what, and may refuse or break the answer. */
export async function startGatekeeper(target: string): Promise<Gatekeeper> {
  const server = createServer((request, response) => {
    const action = String(request.headers['x-amz-target']).replace('AmazonSQS.', '');
    const accessKeyId = /Credential=([^/]+)/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    gatekeeper.requests.push({ action, accessKeyId, at: Date.now() });
    const verdict = gatekeeper.judge(action);
    if (verdict !== 'pass') {
      const [status, type] = verdict === 'deny' ? [403, 'AccessDenied'] : [500, 'InternalFailure'];
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' });
      response.end(JSON.stringify({ __type: `com.amazonaws.sqs#${type}`, message: `not ${action}` }));
      return;
    }
    const onward = send(target, { method: request.method, headers: request.headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    gatekeeper.openCount++;
    onward.on('close', () => gatekeeper.openCount--);
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const gatekeeper: Gatekeeper = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    openCount: 0,
    judge: () => 'pass',
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return gatekeeper;
}
