import { readdir, readFile } from 'node:fs/promises';

/** The unit of the times in /proc, on every Linux that Node runs on. */
const TICK_MS = 10;

/**
 * How long the processors have worked for a Postgres server until now, in milliseconds: for its backends and for everything that it does in the
 * background. What a process that has ended had used is found with its parent, so nothing is lost between two readings. Undefined where there is no /proc.
 */
export async function readProcessorTime(postmasterId: number): Promise<number | undefined> {
  const postmaster = await readStat(postmasterId);
  if (!postmaster) return undefined;
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const processes = await Promise.all(ids.map(readStat));
  const children = processes.filter((one) => one?.parentId === postmasterId);
  return children.reduce((sum, child) => sum + child!.ownMs, postmaster.ownMs + postmaster.endedChildrenMs);
}

async function readStat(processId: number) {
  const text = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  // The second field is the name in brackets and may hold anything; the third is the state.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ms = (index: number) => Number(fields[index - 3]) * TICK_MS;
  return { parentId: Number(fields[1]), ownMs: ms(14) + ms(15), endedChildrenMs: ms(16) + ms(17) };
}
