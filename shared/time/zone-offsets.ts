import { checkTimeZone } from './check-time-zone.ts';

/** A stretch of time during which a zone's clock runs evenly. All in seconds; instants since 1970, `endAt` exclusive. */
export interface ZonePeriod {
  readonly startAt: number;
  readonly endAt: number;
  /** Local wall time minus UTC. */
  readonly offset: number;
  /** The offset before `startAt`: smaller when the clock sprang forward there, larger when it fell back. */
  readonly previousOffset: number;
}

interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly blocks: Map<number, readonly ZonePeriod[]>;
}

/** Periods are found and kept in blocks of a year. */
const blockSeconds = 365 * 86_400;
/** A block also knows its neighbours' last days, so that a clock change just before its start still counts in the hours after it. */
const marginSeconds = 3 * 86_400;
/**
 * Offsets are sampled, and the change searched where two samples differ. From 1970 to 2045 the shortest that a zone keeps an offset is a
 * week (Gaza in 2040, north-east Brazil in 2000), so no pair of changes can hide between samples.
 */
const sampleSeconds = 4 * 86_400;
/** Far dates asked for once must not stay for ever. */
const maxBlocksPerZone = 300;

const zones = new Map<string, Zone>();

/** The period of a zone that contains an instant. A period may be cut at the edges of its block; the next one then continues it. */
export function zonePeriodAt(timeZone: string, at: number): ZonePeriod {
  const zone = zones.get(timeZone) ?? openZone(timeZone);
  const index = Math.floor(at / blockSeconds);
  let block = zone.blocks.get(index);
  if (block === undefined) {
    if (zone.blocks.size >= maxBlocksPerZone) zone.blocks.clear();
    block = findPeriods(zone.format, index * blockSeconds - marginSeconds, (index + 1) * blockSeconds + marginSeconds);
    zone.blocks.set(index, block);
  }
  for (const period of block) if (at < period.endAt) return period;
  throw new Error(`no period of ${timeZone} contains ${at}: periods cover their whole block`);
}

/** Making a formatter takes some 50 µs, so there is one per zone; names are checked first, which bounds how many there can be. */
function openZone(timeZone: string): Zone {
  const name = checkTimeZone(timeZone);
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = { format: new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' }), blocks: new Map() };
    zones.set(name, zone);
  }
  return zone;
}

function findPeriods(format: Intl.DateTimeFormat, from: number, to: number): ZonePeriod[] {
  const periods: ZonePeriod[] = [];
  let startAt = from;
  let offset = readOffset(format, from);
  let previousOffset = offset;
  for (let sampleAt = from; sampleAt < to; sampleAt += sampleSeconds) {
    const nextSampleAt = Math.min(sampleAt + sampleSeconds, to);
    const nextOffset = readOffset(format, nextSampleAt);
    // More than once only if two changes fall between two samples.
    while (offset !== nextOffset) {
      const changeAt = findChange(format, Math.max(sampleAt, startAt), nextSampleAt, offset);
      periods.push({ startAt, endAt: changeAt, offset, previousOffset });
      previousOffset = offset;
      offset = readOffset(format, changeAt);
      startAt = changeAt;
    }
  }
  periods.push({ startAt, endAt: to, offset, previousOffset });
  return periods;
}

/** The first second at which the offset is no longer the given one, which it is at `from` and is not at `to`. */
function findChange(format: Intl.DateTimeFormat, from: number, to: number, offset: number): number {
  let same = from;
  let changed = to;
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (readOffset(format, middle) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}

/** Reads the end of '7/5/2026, GMT-02:30'; UTC itself is 'GMT', and offsets before standard time have seconds. */
function readOffset(format: Intl.DateTimeFormat, at: number): number {
  const [, sign, hours, minutes, seconds] = /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(format.format(at * 1000))!;
  if (sign === undefined) return 0;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds ?? 0));
}
