/** The one file that knows SQLSTATEs: other code asks by meaning. */
interface PostgresError {
  code: string;
  constraint?: string;
}

/** Every SQLSTATE has a digit; the system's own EPIPE has as many characters and none. */
function sqlState(error: unknown): string | undefined {
  const code = (error as Partial<PostgresError> | undefined)?.code;
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** A deadlock or a serialization failure: the whole transaction may simply be tried again. */
export function isTransactionRestartable(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40P01' || state === '40001';
}

/** A size beyond what an index takes, and what a trigger of somebody's own raises. */
const REFUSING_STATES = new Set(['54000', 'P0001']);

/** The value at fault is in the row itself (a constraint, a type, a size, a trigger's verdict), so the same row would fail again. */
export function isRowRefused(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (state.startsWith('22') || state.startsWith('23') || REFUSING_STATES.has(state));
}

/** The name of the violated constraint, which reads as the rule it keeps. */
export function violatedConstraint(error: unknown): string | undefined {
  return sqlState(error)?.startsWith('23') ? (error as PostgresError).constraint : undefined;
}

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/** What node-postgres says without a code: the last is its answer to every statement after the connection broke. */
const NETWORK_MESSAGES = /connection terminated|timeout exceeded when trying to connect|is not queryable/i;
/** The server ends the connection of a transaction that was idle (25P03) or open (25P04) for too long, and has no place for another (53300). */
const LOST_STATES = new Set(['25P03', '25P04', '53300']);

/** A setting that this version of Postgres does not know. */
export function isSettingUnknown(error: unknown): boolean {
  return sqlState(error) === '42704';
}

/** The server ended the transaction because it was open for too long: the connection is gone with it, and a repetition may well take as long again. */
export function isTransactionTooLong(error: unknown): boolean {
  return sqlState(error) === '25P04';
}

/** The connection is gone or could not be made: what was sent last may or may not have happened. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  if (state) return state.startsWith('08') || state.startsWith('57P') || LOST_STATES.has(state);
  const { code, message } = (error ?? {}) as { code?: string; message?: string };
  return (code !== undefined && NETWORK_CODES.has(code)) || NETWORK_MESSAGES.test(message ?? '');
}
