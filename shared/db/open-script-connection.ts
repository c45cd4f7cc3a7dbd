import pg from 'pg';
import { messageOf, WaybillError } from '../errors.ts';
import { toStorableJson } from '../model/json.ts';

export interface ScriptConnection {
  client: pg.Client;
  close(): Promise<void>;
}

type Parse = (text: string) => unknown;
const { BOOL, INT2, INT4, INT8, OID, FLOAT4, FLOAT8, JSON: JSON_TEXT, JSONB } = pg.types.builtins;

/** As Postgres writes it. Dates, decimals and bytes stay so: what JavaScript would make of them depends on its time zone, or loses digits. */
const keep: Parse = (text) => text;
/** A number, unless it is one that JavaScript or JSON cannot say. */
const toNumber: Parse = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : text);
const toFinite: Parse = (text) => (Number.isFinite(Number(text)) ? Number(text) : text);
const toJson: Parse = (text) => {
  const value: unknown = JSON.parse(text);
  return 'text' in toStorableJson(value) ? value : text;
};
const parsers = new Map<number, Parse>([
  [BOOL, (text) => text === 't'],
  ...[INT2, INT4, INT8, OID].map((type): [number, Parse] => [type, toNumber]),
  ...[FLOAT4, FLOAT8].map((type): [number, Parse] => [type, toFinite]),
  ...[JSON_TEXT, JSONB].map((type): [number, Parse] => [type, toJson]),
]);

const CONNECT_MS = 30_000;
/** A statement is told to stop over another connection, for which less time is left. */
const CANCEL_MS = 2_000;

/** A connection to any Postgres database, of the caller's own. When the signal is given, the statement that is under way is cancelled, and with it its locks are let go. */
export async function openScriptConnection(url: string, signal: AbortSignal): Promise<ScriptConnection> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'waybill',
    types: { getTypeParser: (typeId: number) => parsers.get(typeId) ?? keep },
  } as pg.ClientConfig);
  // One that is lost between two statements raises here, which would end the process; the next statement rejects anyway.
  client.on('error', () => {});
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  aborted.catch(() => {});
  try {
    await Promise.race([client.connect(), aborted]);
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const stop = () => void cancel(url, Number(rows[0].pid));
    signal.addEventListener('abort', stop, { once: true });
    return {
      client,
      close: () => {
        signal.removeEventListener('abort', stop);
        return client.end();
      },
    };
  } catch (error) {
    client.end().catch(() => {});
    signal.throwIfAborted();
    throw new WaybillError('database_not_reached', `the database could not be reached: ${messageOf(error)}`, { retryable: true });
  }
}

/** As far as it can be done: a statement that goes on nevertheless ends at its own timeout. */
async function cancel(url: string, pid: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CANCEL_MS,
    query_timeout: CANCEL_MS,
    application_name: 'waybill',
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select pg_cancel_backend($1)', [pid]);
  } catch {
    // The run ends all the same.
  } finally {
    client.end().catch(() => {});
  }
}
