import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export type RunningProcess = { readonly parentId: number; readonly command: string };

/** Who a process id is at this moment: its parent and its command line. Undefined when there is none, or only what is left of one (a zombie). */
export async function readProcess(processId: number): Promise<RunningProcess | undefined> {
  const found = await (process.platform === 'linux' ? readFromProc(processId) : readFromPs(processId)).catch(() => undefined);
  return found?.command ? found : undefined;
}

/** Whether the process id is taken, by anybody. */
export function isAlive(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function readFromProc(processId: number): Promise<RunningProcess> {
  const [command, status] = await Promise.all([
    readFile(`/proc/${processId}/cmdline`, 'utf8'),
    readFile(`/proc/${processId}/status`, 'utf8'),
  ]);
  return { parentId: Number(/^PPid:\s*(\d+)/m.exec(status)?.[1]), command: command.replaceAll('\0', ' ').trim() };
}

async function readFromPs(processId: number): Promise<RunningProcess> {
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'ppid=,command=', '-p', String(processId)]);
  const [, parentId, command] = /^\s*(\d+)\s+(.*?)\s*$/.exec(stdout) ?? [];
  return { parentId: Number(parentId), command: command ?? '' };
}
