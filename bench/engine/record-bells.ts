import type { ExecutionId } from '../../shared/model/ids.ts';
import type { Doorbell } from '../../shared/queue/doorbell.ts';

/** Bells that are kept instead of sent: what is measured is the engine, not a queue. */
export interface RecordedBells extends Doorbell {
  /** Takes what was rung since the last call. */
  takeBells(): ExecutionId[];
}

export function recordBells(): RecordedBells {
  let rung: ExecutionId[] = [];
  return {
    async ringExecutions(bells) {
      const ids = bells.map(({ executionId }) => executionId);
      rung.push(...ids);
      return ids;
    },
    async pokeDispatcher() {},
    pokeManager: async () => true,
    takeBells() {
      const taken = rung;
      rung = [];
      return taken;
    },
  };
}
