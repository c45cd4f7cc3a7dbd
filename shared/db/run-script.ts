import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { messageOf, NonRetryableError, WaybillError } from '../errors.ts';
import { openScriptConnection } from './open-script-connection.ts';

export interface Script {
  /** Of any Postgres database: never of Waybill's own. */
  url: string;
  /** A text without values may hold several statements. */
  statements: readonly { text: string; values?: readonly unknown[] }[];
  isTransaction: boolean;
  statementTimeoutMs: number;
  /** What is kept of each result. */
  maxRows: number;
  /** What is kept of all results together, as JSON. */
  maxRowBytes: number;
  signal: AbortSignal;
}

export interface ScriptResult {
  command: string;
  rowCount: number | null;
  rows: Record<string, unknown>[];
  isTruncated: boolean;
}

/**
 * Runs statements of a user's over a connection of their own, all in one transaction or each by itself. Killed anywhere before the commit, nothing has happened: Postgres rolls back what a lost
 * connection had begun, at the latest when it has been idle for a minute. Killed at the commit, nobody knows; a repetition runs all of them again.
 */
export async function runScript({ url, statements, isTransaction, signal, ...limits }: Script): Promise<ScriptResult[]> {
  signal.throwIfAborted();
  const connection = await openScriptConnection(url, signal);
  const { client } = connection;
  const budget = { rowBytes: limits.maxRowBytes };
  const results: ScriptResult[] = [];
  try {
    if (isTransaction) await client.query('begin');
    await client.query("select set_config('statement_timeout', $1, $2), set_config('idle_in_transaction_session_timeout', '60s', $2)", [
      String(limits.statementTimeoutMs),
      isTransaction,
    ]);
    for (const [index, statement] of statements.entries()) {
      signal.throwIfAborted();
      results.push(...(await runStatement(client, statement, limits.maxRows, budget).catch((error) => refuse(error, index))));
      if (isTransaction && client.getTransactionStatus() !== 'T')
        throw new NonRetryableError(
          `statement ${index + 1} ended the transaction around it: leave begin, commit and rollback out, or set transaction to false`,
        );
    }
    if (isTransaction) await client.query('commit');
    return results;
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof WaybillError ? error : new WaybillError('sql_failed', messageOf(error), { retryable: true });
  } finally {
    // What was not committed is rolled back. A server that does not answer any more is not waited for.
    await Promise.race([connection.close(), wait(1_000, undefined, { ref: false })]);
  }
}

/** Rows are looked at as they come and dropped once enough are kept, so that a large result takes no memory. */
function runStatement(
  client: pg.Client,
  { text, values }: Script['statements'][number],
  maxRows: number,
  budget: { rowBytes: number },
): Promise<ScriptResult[]> {
  const kept = new Map<unknown, { rows: Record<string, unknown>[]; isTruncated: boolean }>();
  const keptOf = (result: unknown) => kept.get(result) ?? kept.set(result, { rows: [], isTruncated: false }).get(result)!;
  // With values, even none, Postgres takes one statement only.
  const query = new pg.Query((values ? { text, values: [...values], queryMode: 'extended' } : { text }) as pg.QueryConfig);
  return new Promise((resolve, reject) => {
    query.on('row', (row: Record<string, unknown>, result: unknown) => {
      const one = keptOf(result);
      const bytes = one.isTruncated || one.rows.length >= maxRows ? Number.POSITIVE_INFINITY : Buffer.byteLength(JSON.stringify(row)) + 1;
      if (bytes > budget.rowBytes) one.isTruncated = true;
      else {
        budget.rowBytes -= bytes;
        one.rows.push(row);
      }
    });
    query.on('error', reject);
    query.on('end', (ended: pg.QueryResult | pg.QueryResult[]) =>
      resolve([ended].flat().map((result) => ({ command: result.command ?? '', rowCount: result.rowCount, ...keptOf(result) }))),
    );
    client.query(query);
  });
}

/** Tells which one it was, in Postgres's words, and whether another attempt may go better. */
function refuse(error: unknown, index: number): never {
  const message = `statement ${index + 1} failed: ${messageOf(error)}`;
  if (isStatementRefused(error)) throw new NonRetryableError(message);
  throw new WaybillError('sql_failed', message, { retryable: true });
}

/** The statement itself is at fault: it is not understood, names what does not exist or may not be touched (42), is not supported (0A), or not in a transaction (25001). */
function isStatementRefused(error: unknown): boolean {
  return error instanceof pg.DatabaseError && /^(?:42|0A|25001)/.test(error.code ?? '');
}
