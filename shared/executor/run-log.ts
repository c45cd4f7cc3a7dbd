import type { Db } from '../db/database.ts';
import type { ExecutionId } from '../model/ids.ts';
import { toStorableJson } from '../model/json.ts';
import type { LogFields, Logger, LogLevel } from '../observability/log.ts';
import { redactLog } from './redact-log.ts';
import { type LogLine, MOST_LINES, writeLogLines } from './write-log-lines.ts';

export interface OpenRunLog {
  db: Db;
  runId: ExecutionId;
  secretUrls: readonly string[];
  /** Where it is said that lines were lost. */
  log: Logger;
  /** How long lines wait for others. */
  flushMs: number;
}

/** What a run says, kept beside it in the database: a copy of what goes to the log stream, redacted in the same way and bounded. */
export interface RunLog {
  loggerFor(executionId: ExecutionId): Logger;
  /** Writes what was said so far; resolves when that is done, or has failed. Never raises: a log that cannot be written must not fail the work it tells of. */
  flush(): Promise<void>;
}

const LONGEST_MESSAGE_BYTES = 8_192;
const LARGEST_FIELDS_BYTES = 8_192;

export function openRunLog({ db, runId, secretUrls, log, flushMs }: OpenRunLog): RunLog {
  let waiting: (Omit<LogLine, 'ageMs'> & { saidAt: number })[] = [];
  let writing = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isFull = false;

  async function write(): Promise<void> {
    const lines = waiting;
    waiting = [];
    if (!lines.length || isFull) return;
    try {
      const written = await writeLogLines(
        db,
        runId,
        lines.map(({ saidAt, ...line }) => ({ ...line, ageMs: performance.now() - saidAt })),
      );
      isFull = written < lines.length;
    } catch (error) {
      log.warn('lines of a run could not be kept beside it, they are in this log only', {
        runId: String(runId),
        lost: lines.length,
        error,
      });
    }
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write);
    return writing;
  }

  const add = (executionId: ExecutionId, level: LogLevel) => (message: string, fields?: LogFields) => {
    // More than a run may keep: whatever is behind would be left out by the database as well.
    if (isFull || waiting.length > MOST_LINES) return;
    waiting.push({ executionId, level, message: cut(message), fieldsText: describeFields(fields), saidAt: performance.now() });
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  };

  return {
    loggerFor: (executionId) =>
      redactLog(
        {
          debug: add(executionId, 'debug'),
          info: add(executionId, 'info'),
          warn: add(executionId, 'warn'),
          error: add(executionId, 'error'),
        },
        secretUrls,
      ),
    flush,
  };
}

/** By bytes, as the table counts; a character that the cut goes through is left out. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= LONGEST_MESSAGE_BYTES) return message;
  return `${bytes
    .subarray(0, LONGEST_MESSAGE_BYTES - 3)
    .toString()
    .replace(/\uFFFD$/, '')}…`;
}

function describeFields(fields: LogFields = {}): string | null {
  if (!Object.keys(fields).length) return null;
  const stored = toStorableJson(fields, LARGEST_FIELDS_BYTES);
  return 'text' in stored ? stored.text : JSON.stringify({ leftOut: stored.problem });
}
