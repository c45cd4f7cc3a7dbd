/** A figure as it is stored; one that cannot be is left out. */
export function toWhole(figure: number | undefined): number | undefined {
  const whole = Math.round(figure ?? Number.NaN);
  return Number.isSafeInteger(whole) ? whole : undefined;
}
