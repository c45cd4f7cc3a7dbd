import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { signalGroup } from './spawn-function.ts';

/** A process that cannot be mistaken for another one that has been given its pid later. */
export interface ProcessRecord {
  pid: number;
  /** When it started, in the words of the operating system; only good for comparing. */
  startedAt: string;
}

/** The process as it is now; undefined when there is none, or only a zombie that has not been collected. */
export async function describeProcess(pid: number): Promise<ProcessRecord | undefined> {
  const startedAt = await (process.platform === 'linux' ? readStartFromProc(pid) : askStartFromPs(pid)).catch((error) => {
    // No such file, gone while it was read, and the exit status with which ps says that it found nobody.
    if (['ENOENT', 'ESRCH', 1].includes(error.code) && error.syscall !== 'spawn ps') return undefined;
    throw error;
  });
  return startedAt === undefined ? undefined : { pid, startedAt };
}

/**
 * Ends function processes that a killed supervisor left frozen, with what they had started, and waits until they are gone. A pid that now
 * belongs to another process is left alone. Killed halfway, it is simply done again at the next start. Returns the pids it ended.
 */
export async function endProcessesLeftBehind(records: ProcessRecord[]): Promise<number[]> {
  const ended = await Promise.all(records.map(async (record) => ((await endProcess(record)) ? [record.pid] : [])));
  return ended.flat();
}

async function endProcess({ pid, startedAt }: ProcessRecord): Promise<boolean> {
  const isSame = async () => (await describeProcess(pid))?.startedAt === startedAt;
  if (!(await isSame())) return false;
  signalGroup(pid, 'SIGKILL');
  const giveUpAt = Date.now() + 5000;
  while (await isSame()) {
    if (Date.now() > giveUpAt) throw new Error(`process ${pid} is still there 5 seconds after SIGKILL: end it by hand, then start again`);
    await delay(5);
  }
  return true;
}

/** Ticks since boot, and which boot: after a restart of the machine the same pid could show the same ticks. */
async function readStartFromProc(pid: number): Promise<string | undefined> {
  const [stat, bootId] = await Promise.all([readFile(`/proc/${pid}/stat`, 'utf8'), readFile('/proc/sys/kernel/random/boot_id', 'utf8')]);
  // The second field is the program's name, which may itself hold blanks and brackets: count from the last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  return state === 'Z' || state === 'X' ? undefined : `${bootId.trim()}/${startTicks}`;
}

async function askStartFromPs(pid: number): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
    env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
  });
  const [, state, startedAt] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
  return state?.startsWith('Z') ? undefined : startedAt;
}
