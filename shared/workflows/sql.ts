import type { StandardSchemaV1 } from '@standard-schema/spec';
import { NonRetryableError } from '../errors.ts';
import type { Workflow } from '../model/workflow.ts';
import { describedInput, type InputSchema } from './described-input.ts';
import { describeReference, REFERENCE_FORMS, readReference, referenceSchemas, type SecretReference } from './secret-reference.ts';

/** A text may hold several statements, as a file does; one with values, any JSON that it calls $1, $2 and so on, holds exactly one. */
export type SqlStatement = string | { text: string; values: unknown[] };

export interface SqlInput {
  /** Refers to a `postgres://` URL, or to the JSON that RDS keeps of a database: host, port, username, password, dbname. */
  database: SecretReference;
  statements: SqlStatement[];
  /** All of them together or none, unless this is false: for what Postgres refuses inside of a transaction, such as `vacuum` and `create index concurrently`. */
  transaction?: boolean;
  /** How long each may take; 60 if not said. */
  statementTimeoutSeconds?: number;
  /** How many rows of each result are kept; 100 if not said. */
  maxRows?: number;
}

export interface SqlResult {
  /** What Postgres calls it: SELECT, UPDATE, CREATE. */
  command: string;
  rowCount: number | null;
  rows: Record<string, unknown>[];
  /** There were more rows than are kept, or larger ones. */
  isTruncated: boolean;
}

export interface SqlOutput {
  results: SqlResult[];
}

const DEFAULTS = { transaction: true, statementTimeoutSeconds: 60, maxRows: 100 };
/** Leaves room in the output for what is not rows. */
const MAX_ROW_BYTES = 160 * 1024;

const text: InputSchema = { type: 'string', minLength: 1, maxLength: 200_000 };

const sqlSchema: InputSchema = {
  type: 'object',
  required: ['database', 'statements'],
  additionalProperties: false,
  properties: {
    database: { anyOf: referenceSchemas(), description: REFERENCE_FORMS },
    statements: {
      type: 'array',
      minItems: 1,
      maxItems: 200,
      items: {
        anyOf: [
          text,
          {
            type: 'object',
            required: ['text', 'values'],
            additionalProperties: false,
            properties: { text, values: { type: 'array', maxItems: 1_000 } },
          },
        ],
        description: "SQL as text, or { text: 'select … $1', values: […] }",
      },
    },
    transaction: { type: 'boolean', default: DEFAULTS.transaction },
    statementTimeoutSeconds: { type: 'integer', minimum: 1, maximum: 900, default: DEFAULTS.statementTimeoutSeconds },
    maxRows: { type: 'integer', minimum: 0, maximum: 1_000, default: DEFAULTS.maxRows },
  },
};

/**
 * Runs SQL against a Postgres database of the user's, in one transaction unless told otherwise. What may be better next time fails the attempt; SQL that Postgres does not understand, or
 * that names what does not exist, dead-letters the run at once.
 *
 * The results are recorded as a step, so a run that dies after it does not run the statements again; one that dies between their commit and that record does. Write them so that this does
 * no harm (`on conflict`, `if not exists`).
 */
export const sql: Workflow<StandardSchemaV1<SqlInput>, SqlOutput> = {
  name: 'waybill/sql',
  pool: 'default',
  input: describedInput<SqlInput>(sqlSchema),
  inputJsonSchema: { ...sqlSchema },
  run: (ctx, input) => ctx.step('statements', async ({ signal }) => ({ results: await runStatements(input, signal) })),
};

async function runStatements(input: SqlInput, signal: AbortSignal): Promise<SqlResult[]> {
  const { statements, transaction, statementTimeoutSeconds, maxRows } = { ...DEFAULTS, ...input };
  const url = toUrl(input.database, await readReference(input.database, signal));
  // What only some workflows need is not loaded by an app that is merely evaluated.
  const { runScript } = await import('../db/run-script.ts');
  return runScript({
    url,
    statements: statements.map((statement) => (typeof statement === 'string' ? { text: statement } : statement)),
    isTransaction: transaction,
    statementTimeoutMs: statementTimeoutSeconds * 1000,
    maxRows,
    maxRowBytes: MAX_ROW_BYTES,
    signal,
  });
}

/** Nothing of the secret is repeated when it is neither a URL nor what RDS writes. */
function toUrl(reference: SecretReference, secret: string): string {
  const trimmed = secret.trim();
  if (/^postgres(?:ql)?:\/\//.test(trimmed) && URL.canParse(trimmed)) return trimmed;
  const fields = readFields(trimmed);
  if (fields) return fields;
  throw new NonRetryableError(
    `${describeReference(reference)} holds neither a postgres:// URL nor JSON with host, username and password: put one of them there`,
  );
}

function readFields(text: string): string | undefined {
  try {
    const { host, port = 5432, username, password, dbname } = JSON.parse(text) as Record<string, unknown>;
    if (![host, username, password].every((part) => typeof part === 'string' && part)) return undefined;
    const [user, word, name] = [username, password, dbname ?? username].map((part) => encodeURIComponent(String(part)));
    // Such a secret says nothing of encryption, but RDS has it always.
    const isLocal = /^(?:localhost|127\.[\d.]+)$/.test(String(host));
    const url = `postgres://${user}:${word}@${host}:${port}/${name}${isLocal ? '' : '?sslmode=verify-full'}`;
    return URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}
