import { inspect } from 'node:util';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LEVELS)[number];

/** What a log line is about: ids first, so that one run can be followed through all functions. */
export type LogFields = Record<string, unknown>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Writes one JSON object per line, which is what CloudWatch Logs Insights reads without being told how. */
export function createLogger(source: string, write: (line: string) => void = (line) => process.stdout.write(`${line}\n`)): Logger {
  const threshold = Math.max(LEVELS.indexOf((process.env.WAYBILL_LOG_LEVEL ?? 'info') as LogLevel), 0);
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (LEVELS.indexOf(level) < threshold) return;
    const line = { level, source, message };
    // Given twice: first for their place in the line, last so that no field can pass for one of them.
    write(toJson(Object.assign({ ...line }, describe(fields), line)));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Errors do not survive JSON.stringify by themselves. */
function describe(fields: LogFields = {}): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error
        ? { name: value.name, message: value.message, stack: value.stack, ...('code' in value ? { code: value.code } : {}) }
        : value,
    ]),
  );
}

/** A field that JSON cannot say (a cycle, a big integer, a `toJSON` that throws) is told as text: logging never fails the work it tells of. */
function toJson(fields: LogFields): string {
  try {
    return JSON.stringify(fields);
  } catch {
    return JSON.stringify(
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, isJson(value) ? value : inspect(value, AS_TEXT)])),
    );
  }
}

const AS_TEXT = { breakLength: Number.POSITIVE_INFINITY, customInspect: false };

function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}
