/** A change of a zone's clock, read from Intl alone: an oracle that shares nothing with the code under test. Offsets in seconds. */
export interface ZoneChange {
  at: number;
  before: number;
  after: number;
}

const sampleSeconds = 3 * 86_400;

/** All changes between two instants (seconds), sampled every three days: no zone keeps an offset for a shorter time from 1970 to 2045. */
export function findZoneChanges(timeZone: string, from: number, to: number): ZoneChange[] {
  const readOffset = offsetReader(timeZone);
  const changes: ZoneChange[] = [];
  let before = readOffset(from);
  for (let sampleAt = from; sampleAt < to; sampleAt += sampleSeconds) {
    const after = readOffset(sampleAt + sampleSeconds);
    if (after === before) continue;
    let [low, high] = [sampleAt, sampleAt + sampleSeconds];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (readOffset(middle) === before) low = middle;
      else high = middle;
    }
    changes.push({ at: high, before, after });
    before = after;
  }
  return changes;
}

/** The offset at an instant, by subtracting it from the date and time that Intl shows. */
export function offsetReader(timeZone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (at) => {
    const [month, day, year, hour, minute, second] = format
      .format(at * 1000)
      .split(/\D+/)
      .map(Number);
    return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) / 1000 - at;
  };
}
