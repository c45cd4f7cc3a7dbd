import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { ScheduleClock } from '../../../local/events/schedule-clock.ts';

export interface ManualClock extends ScheduleClock {
  /** Moves on, stopping at each timer; what a timer starts may set timers of its own on the way. */
  advanceTo(instant: string): Promise<void>;
  /** Jumps without stopping, as a machine does that slept: timers that are overdue fire late, at the new time. */
  wakeUpAt(instant: string): Promise<void>;
  readonly timerCount: number;
}

export function createManualClock(start: string): ManualClock {
  let now = new Date(start);
  const timers = new Set<{ at: Date; callback: () => void }>();
  const fireDue = async (until: Date, isJump: boolean) => {
    while (true) {
      const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at.getTime() - b.at.getTime());
      if (next === undefined) return;
      timers.delete(next);
      if (!isJump) now = next.at;
      next.callback();
      await turnOfTheLoop();
    }
  };
  return {
    now: () => new Date(now),
    setTimer(at, callback) {
      const timer = { at, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    async advanceTo(instant) {
      await fireDue(new Date(instant), false);
      now = new Date(instant);
      await turnOfTheLoop();
    },
    async wakeUpAt(instant) {
      now = new Date(instant);
      await fireDue(now, true);
    },
    get timerCount() {
      return timers.size;
    },
  };
}
