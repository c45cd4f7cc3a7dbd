import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describeProcess, type ProcessRecord } from '../../local/lambda/left-behind-processes.ts';

/**
 * Every process below this one, however deep. It goes by parents, because function processes lead groups and Postgres leads a session of its
 * own. Each comes with its start, so that whoever has its pid later is not mistaken for it.
 */
export async function listTree(pid: number): Promise<ProcessRecord[]> {
  const byParent = Map.groupBy(await listParents(), ({ parentPid }) => parentPid);
  const below = (parent: number): number[] => (byParent.get(parent) ?? []).flatMap((child) => [child.pid, ...below(child.pid)]);
  const records = await Promise.all(below(pid).map((descendant) => describeProcess(descendant)));
  return records.filter((record) => record !== undefined);
}

export async function isRunning({ pid, startedAt }: ProcessRecord): Promise<boolean> {
  return (await describeProcess(pid))?.startedAt === startedAt;
}

async function listParents(): Promise<{ pid: number; parentPid: number }[]> {
  return process.platform === 'linux' ? readParentsFromProc() : askParentsFromPs();
}

async function readParentsFromProc() {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)));
  return pids.flatMap((pid, index) => {
    const stat = stats[index];
    // Behind the program's name in brackets, which may hold anything: the state, then the parent.
    return stat === undefined ? [] : [{ pid, parentPid: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) }];
  });
}

async function askParentsFromPs() {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=', '-o', 'ppid=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parentPid] = line.trim().split(/\s+/).map(Number);
      return { pid: pid!, parentPid: parentPid! };
    });
}
