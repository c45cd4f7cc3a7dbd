import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Stands between a client and Postgres, and loses what a test wants lost. It understands just enough of the protocol to know a `commit` when it passes.
 */
export interface SwallowingProxy {
  /** The database's address by way of this proxy. */
  readonly url: string;
  /** How many answers to a commit were swallowed so far. */
  readonly swallowedCount: number;
  /** Lets the next commits through and answers each by closing the connection once the server has carried it out. */
  swallowCommits(count: number): void;
  /** Loses from here on whatever is sent over the connections there are, without closing them. */
  silence(): void;
  /** Breaks all connections and lets no other be made until it is restored. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

export async function startSwallowingProxy(databaseUrl: string): Promise<SwallowingProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const silenced = new WeakSet<Socket>();
  let isCut = false;
  let armedCount = 0;
  let swallowedCount = 0;

  const server = createServer((client) => {
    if (isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port || 5432), target.hostname);
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', close);
      socket.on('close', () => {
        sockets.delete(socket);
        close();
      });
    }
    let isSwallowing = false;
    const isSilent = () => silenced.has(client);
    const requests = readMessages({ hasStartup: true }, ({ type, body }) => {
      if (type !== 'Q' || !/^commit;?\0$/i.test(body.toString()) || armedCount === 0) return;
      armedCount--;
      isSwallowing = true;
    });
    // The commit is in effect when the server says that it is ready for the next statement.
    const answers = readMessages({ hasStartup: false }, ({ type }) => {
      if (!isSwallowing || type !== 'Z') return;
      swallowedCount++;
      close();
    });
    client.on('data', (chunk) => {
      if (isSilent()) return;
      requests(chunk);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (isSilent()) return;
      if (!isSwallowing) client.write(chunk);
      answers(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };

  return {
    url: url.href,
    get swallowedCount() {
      return swallowedCount;
    },
    swallowCommits(count) {
      armedCount = count;
    },
    silence() {
      for (const socket of sockets) silenced.add(socket);
    },
    cut() {
      isCut = true;
      breakAll();
    },
    restore() {
      isCut = false;
    },
    async close() {
      server.close();
      breakAll();
      await once(server, 'close');
    },
  };
}

interface Message {
  type: string;
  body: Buffer;
}

/** Takes a stream apart: a letter, a length, a body; only the client's first message has no letter. */
function readMessages({ hasStartup }: { hasStartup: boolean }, onMessage: (message: Message) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let letterBytes = hasStartup ? 0 : 1;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= letterBytes + 4) {
      const end = letterBytes + rest.readInt32BE(letterBytes);
      if (rest.length < end) return;
      onMessage({ type: rest.toString('latin1', 0, letterBytes), body: rest.subarray(letterBytes + 4, end) });
      rest = rest.subarray(end);
      letterBytes = 1;
    }
  };
}
