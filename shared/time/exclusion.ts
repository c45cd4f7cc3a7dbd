export const weekdays = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

export type Weekday = (typeof weekdays)[number];

/** Local times at which a timed manifest does not run: an occurrence in one of them is skipped, and the reason recorded. */
export type Exclusion =
  | { readonly type: 'weekdays'; readonly weekdays: readonly Weekday[] }
  /** Each `YYYY-MM-DD`. */
  | { readonly type: 'dates'; readonly dates: readonly string[] }
  /** Both `YYYY-MM-DD`, both included. */
  | { readonly type: 'date_range'; readonly from: string; readonly to: string }
  /** Both `HH:MM`, the end not included. Past midnight when it ends before it starts. */
  | { readonly type: 'time_window'; readonly from: string; readonly to: string };

/** Says when a timed manifest does not run, on the wall clock of its zone: `exclude: [exclude.weekdays('saturday', 'sunday')]`. */
export const exclude = {
  weekdays: (...excluded: Weekday[]): Exclusion => ({ type: 'weekdays', weekdays: excluded }),
  /** Each `YYYY-MM-DD`. */
  dates: (...dates: string[]): Exclusion => ({ type: 'dates', dates }),
  /** Both `YYYY-MM-DD`, both included. */
  dateRange: (from: string, to: string): Exclusion => ({ type: 'date_range', from, to }),
  /** Both `HH:MM`, the end not included. Past midnight when it ends before it starts. */
  timeWindow: (from: string, to: string): Exclusion => ({ type: 'time_window', from, to }),
};
