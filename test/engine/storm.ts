import { setImmediate as turn } from 'node:timers/promises';
import { WaybillError } from '../../shared/errors.ts';
import type { World } from './use-world.ts';

export interface Storm {
  /** Whatever went wrong; the first ends the storm. */
  errors: unknown[];
  /** How often each deed was done. */
  counts: Record<string, number>;
  /** Does it over and over until the storm ends. What people are told is no error; anything else is. */
  keepDoing(name: string, deed: () => Promise<unknown>): Promise<void>;
}

/** A storm that begins now, for tests in which everything happens at once. */
export function beginStorm(milliseconds: number): Storm {
  const errors: unknown[] = [];
  const counts: Record<string, number> = {};
  const endsAt = Date.now() + milliseconds;
  return {
    errors,
    counts,
    async keepDoing(name, deed) {
      while (Date.now() < endsAt && !errors.length) {
        try {
          await deed();
          counts[name] = (counts[name] ?? 0) + 1;
        } catch (error) {
          if (!(error instanceof WaybillError)) errors.push(new Error(`${name}: ${String(error)}`, { cause: error }));
        }
        await turn();
      }
    },
  };
}

/** Lets everything run that is still to run, also what waits for a bell to be rung again: the longest such wait is five minutes. */
export async function calmDown(world: World): Promise<void> {
  for (let look = 0; look < 4; look++) {
    await world.drain();
    world.clock.advance(301);
  }
  await world.drain();
}
