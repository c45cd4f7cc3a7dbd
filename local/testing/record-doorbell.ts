import type { Doorbell, ExecutionBell } from '../../shared/queue/doorbell.ts';

/** Bells that are kept instead of sent: whoever has them decides when, and how often, they are delivered. */
export interface RecordedDoorbell extends Doorbell {
  bells: ExecutionBell[];
  dispatcherPokes: number;
  managerPokes: { delaySeconds?: number; generation?: number }[];
}

export function recordDoorbell(): RecordedDoorbell {
  const doorbell: RecordedDoorbell = {
    bells: [],
    dispatcherPokes: 0,
    managerPokes: [],
    ringExecutions: async (bells) => {
      doorbell.bells.push(...bells);
      return bells.map(({ executionId }) => executionId);
    },
    pokeDispatcher: async () => {
      doorbell.dispatcherPokes++;
    },
    pokeManager: async (poke = {}) => {
      doorbell.managerPokes.push(poke);
      return true;
    },
  };
  return doorbell;
}
