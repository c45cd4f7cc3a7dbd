/** Timers take no more than this; one that is given more goes off at once. */
export const LONGEST_MS = 2 ** 31 - 1;
