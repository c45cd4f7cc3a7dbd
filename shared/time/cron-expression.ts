/** A cron expression, read. Lists of values ascend. */
export interface CronExpression {
  readonly expression: string;
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly days: CronDays;
  /**
   * Whether it goes round the clock: its hour field has an item that starts with `*` (so every step `*`/n too), or names all 24 hours.
   * Such an expression counts real hours: an hour that the clock repeats counts twice, one that it leaves out not at all. Any other
   * names its hours (`2`, `1-3`, `8-18/2`) and keeps to the calendar: each time once a day, whatever the clock does.
   *
   * A round-the-clock expression cannot lose a day to a gap: it names midnight and an hour from noon on, and no gap is that long unless
   * it takes the whole date.
   */
  readonly isRoundTheClock: boolean;
}

/** Which days of a month an expression names. */
export interface CronDays {
  /** 1-31; undefined when the field is `*` or `?`, which restricts nothing. */
  readonly ofMonth: ReadonlySet<number> | undefined;
  readonly isLastOfMonth: boolean;
  /** Undefined likewise. */
  readonly ofWeek: CronWeekdays | undefined;
}

/** Weekdays from 0 (Sunday) to 6. */
export interface CronWeekdays {
  readonly every: ReadonlySet<number>;
  /** `FRI#2` as weekday and count. */
  readonly nth: readonly { readonly weekday: number; readonly nth: number }[];
  /** `FRIL`. */
  readonly last: ReadonlySet<number>;
}
