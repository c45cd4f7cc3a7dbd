import { InvalidInputError } from '../../shared/errors.ts';

/** One numeric field of an AWS cron expression. */
export interface CronField {
  name: string;
  minimum: number;
  maximum: number;
  /** Names in the order of their numbers, from `minimum`. */
  names?: readonly string[];
}

/** The values that a field allows: `*`, numbers or names, ranges, lists and steps. */
export function parseCronField(text: string, field: CronField): Set<number> {
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const [range = '', stepText, ...rest] = item.split('/');
    const step = stepText === undefined ? 1 : Number(stepText);
    if (rest.length > 0 || !/^[1-9]\d*$/.test(stepText ?? '1')) throw invalidField(text, field);
    const [first, last] = parseRange(range, stepText !== undefined, text, field);
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return values;
}

function parseRange(range: string, hasStep: boolean, text: string, field: CronField): [number, number] {
  if (range === '*') return [field.minimum, field.maximum];
  const [firstText = '', lastText, ...rest] = range.split('-');
  const first = parseCronValue(firstText, text, field);
  // `5/15` is short for "from 5 to the end, every 15".
  const last = lastText === undefined ? (hasStep ? field.maximum : first) : parseCronValue(lastText, text, field);
  if (rest.length > 0 || last < first) throw invalidField(text, field);
  return [first, last];
}

export function parseCronValue(valueText: string, text: string, field: CronField): number {
  const named = field.names?.indexOf(valueText.toUpperCase()) ?? -1;
  const value = named >= 0 ? field.minimum + named : Number(valueText);
  if ((named < 0 && !/^\d+$/.test(valueText)) || value < field.minimum || value > field.maximum) throw invalidField(text, field);
  return value;
}

export function invalidField(text: string, { name, minimum, maximum, names }: CronField): InvalidInputError {
  const allowed = names === undefined ? `${minimum}-${maximum}` : `${minimum}-${maximum} or ${names[0]}-${names.at(-1)}`;
  return new InvalidInputError(
    'invalid_schedule',
    `${name} '${text}' is invalid: it must be ${allowed}, as a value, range (a-b), list (a,b), step (a/n) or *`,
  );
}
