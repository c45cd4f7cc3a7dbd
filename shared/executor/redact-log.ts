import { inspect } from 'node:util';
import { toStorableText } from '../model/json.ts';
import type { LogFields, Logger } from '../observability/log.ts';
import { createRedact, type Redact } from './redact.ts';

const LONGEST_TEXT = 16_000;

/**
 * A log that keeps secrets, and that takes any value: user code logs through it, and a field that cannot be written as JSON must not fail the run it describes.
 */
export function redactLog(log: Logger, secretUrls: readonly string[]): Logger {
  const at = (level: keyof Logger) => (message: string, fields?: LogFields) => {
    const redact = createRedact(secretUrls);
    log[level](redact(String(message)), fields && toLoggable(fields, redact));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function toLoggable(fields: LogFields, redact: Redact): LogFields {
  const text = (value: string) => toStorableText(redact(value), LONGEST_TEXT);
  const replace = (_: string, value: unknown) => {
    if (typeof value === 'string') return text(value);
    if (typeof value === 'bigint') return String(value);
    if (value instanceof Error) {
      const { name, message, stack } = value;
      return { name, message, stack, ...('code' in value ? { code: value.code } : {}) };
    }
    return value;
  };
  try {
    return JSON.parse(JSON.stringify(fields, replace));
  } catch {
    // Cyclic, or with a getter that throws.
    return { fields: text(inspect(fields, { depth: 4, customInspect: false, maxStringLength: Number.POSITIVE_INFINITY })) };
  }
}
