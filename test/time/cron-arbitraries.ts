import fc from 'fast-check';

/** Random cron fields in every form that our grammar, cron-parser and croner all read in the same way. */
function field(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const list = fc.uniqueArray(value, { minLength: 2, maxLength: 5 }).map((values) => values.join(','));
  const step = fc.integer({ min: 2, max: Math.floor(max / 2) });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant('*') },
    { weight: 3, arbitrary: value.map(String) },
    range,
    list,
    step.map((every) => `*/${every}`),
    fc.tuple(range, step).map(([span, every]) => `${span}/${every}`),
  );
}

export const hourField = field(0, 23);
export const minuteField = field(0, 59);

const dayOfMonthField = fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, field(1, 31), fc.constant('L'));
const monthField = fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, field(1, 12), fc.constantFrom('FEB', 'mar-oct', 'JUN,DEC'));
const dayOfWeekField = fc.oneof(
  { weight: 4, arbitrary: fc.constant('*') },
  field(0, 6),
  fc.constantFrom('7', '5-7', 'MON-FRI', 'sat,sun', 'FRI#2', '1#5', '0L', 'FRIL'),
);

/** Expressions of five fields, or six with seconds. */
export const cronExpression = fc
  .tuple(fc.option(minuteField, { freq: 3 }), minuteField, hourField, dayOfMonthField, monthField, dayOfWeekField)
  .map((fields) => fields.filter((text) => text !== null).join(' '));

export const timeZone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));

/** Zones whose changes are unusual: at midnight, over midnight, by half an hour, by two hours, around Ramadan. */
export const oddZones = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Havana',
  'America/Nuuk',
  'America/Santiago',
  'America/St_Johns',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Gaza',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'Europe/London',
] as const;

export const instant = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2040, 0, 1) }).map((ms) => new Date(ms));
