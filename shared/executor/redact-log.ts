import { toStorableText } from '../model/json.ts';
import type { LogFields, Logger } from '../observability/log.ts';
import { createRedact } from './redact.ts';
import { toPlain } from './to-plain.ts';

const LONGEST_TEXT = 16_000;

/**
 * A log that keeps secrets, and that takes any value: user code logs through it, and a field that cannot be written as JSON must not fail the run it describes.
 */
export function redactLog(log: Logger, secretUrls: readonly string[]): Logger {
  const at = (level: keyof Logger) => (message: string, fields?: LogFields) => {
    const redact = createRedact(secretUrls);
    const text = (value: string) => toStorableText(redact(value), LONGEST_TEXT);
    log[level](text(String(message)), fields && (toPlain(fields, text) as LogFields));
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
