import type { CronFieldRule } from './cron-field.ts';

/** Why a field is refused; `parseCron` adds the expression in front. */
export class CronFieldProblem extends Error {}

/**
 * The numbers a field stands for, ascending and without repetition. It is a list of items, each a value, a range `a-b`, everything `*`, or
 * one of the latter three with a step; `a/n` means "from a on, every n". The special forms of the day fields are taken out before.
 */
export function parseCronField(rule: CronFieldRule, items: readonly string[]): number[] {
  const values = new Set<number>();
  for (const item of items) {
    const parts = /^(?:(\*)|([^-/]+)(?:-([^-/]+))?)(?:\/([^-/]+))?$/.exec(item);
    if (!parts) throw refuse(rule, item);
    const [, everything, first, last, step] = parts;
    const from = everything ? rule.min : parseCronValue(rule, first!, item);
    const to = everything || (last === undefined && step !== undefined) ? rule.max : parseRangeEnd(rule, from, last ?? first!, item);
    if (from > to) {
      throw new CronFieldProblem(
        `${rule.name} ranges must ascend, got '${item}'; to go past the end write '${from}-${rule.max},${rule.min}-${to}'`,
      );
    }
    const stride = step === undefined ? 1 : parseStep(rule, step, item);
    for (let value = from; value <= to; value += stride) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

/** One number or name of a field. `item` is what the message quotes. */
export function parseCronValue(rule: CronFieldRule, text: string, item: string): number {
  const named = rule.names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) return rule.min + named;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= rule.min && value <= rule.max)) throw refuse(rule, item);
  return value;
}

/** A week may end on Sunday: `FRI-SUN` is as good as `5-7`. */
function parseRangeEnd(rule: CronFieldRule, from: number, text: string, item: string): number {
  return text.toUpperCase() === 'SUN' && from > 0 ? rule.max : parseCronValue(rule, text, item);
}

/** A step that leaves the field at once (`*`/90 in minutes) does not do what its author thinks, so it is refused. */
function parseStep(rule: CronFieldRule, text: string, item: string): number {
  const step = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= rule.max) return step;
  throw new CronFieldProblem(`${rule.name} step must be 1-${rule.max}, got '${item}'`);
}

function refuse(rule: CronFieldRule, item: string): CronFieldProblem {
  const forms = /^\w+$/.test(item) ? '' : `, alone or as a range (a-b), a list (a,b) or a step (*/n)`;
  return new CronFieldProblem(`${rule.name} must be ${rule.allowed}${forms}, got '${item}'${hintFor(item)}`);
}

function hintFor(item: string): string {
  if (/^H/i.test(item)) return '; instead of H, write a value and spread the load with jitter';
  if (/W$/i.test(item)) return '; W (the nearest weekday) is not supported';
  if (/^L-/i.test(item)) return '; only L itself is supported, without an offset';
  if (item === '?') return `; write '*', or leave ? alone in a day field`;
  return '';
}
