import { setTimeout as delay } from 'node:timers/promises';

/**
 * Looks until there is something to see, and gives it. For what happens in other processes, where no signal can be awaited; the error says what
 * was waited for and, if the caller can tell, how things stood at the end.
 */
export async function waitFor<Seen>(
  what: string,
  look: () => Promise<Seen | undefined | false> | Seen | undefined | false,
  { seconds, describe = () => '' }: { seconds: number; describe?: () => unknown },
): Promise<Seen> {
  const giveUpAt = Date.now() + seconds * 1000;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > giveUpAt) throw new Error(`not seen within ${seconds} seconds: ${what}\n${String(describe())}`);
    await delay(50);
  }
}
