import type { IncomingHttpHeaders } from 'node:http';

/**
 * How long the sender of an answer wants to be left alone, in whole seconds and at least one; undefined if it does not say, or says nonsense. It may say an instant: that is
 * compared with its own clock, if it tells the time, and not with ours.
 */
export function readRetryAfterSeconds({ 'retry-after': retryAfter, date }: IncomingHttpHeaders, now = Date.now()): number | undefined {
  if (retryAfter === undefined) return undefined;
  const text = retryAfter.trim();
  if (/^\d{1,9}$/.test(text)) return Math.max(Number(text), 1);
  const at = /^[A-Za-z]/.test(text) ? Date.parse(text) : Number.NaN;
  const from = Date.parse(date ?? '');
  return Number.isNaN(at) ? undefined : Math.max(Math.ceil((at - (Number.isNaN(from) ? now : from)) / 1000), 1);
}
