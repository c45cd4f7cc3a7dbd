/** Tells the time. The database's own clock rules in production; this one is for tests, which move it. */
export interface Clock {
  now(): Date;
}
