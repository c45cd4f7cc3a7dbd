import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { FunctionSettings } from './function-settings.ts';

const bootstrap = fileURLToPath(new URL('./bootstrap.mjs', import.meta.url));

/**
 * Starts one process of a function. It leads a process group of its own: freezing and killing then reach whatever it has started itself,
 * and Ctrl-C in the terminal does not reach it, so that the supervisor decides the order in which things end.
 */
export function spawnFunction(settings: FunctionSettings, env: Record<string, string>): ChildProcess {
  // Lambda leaves a tenth of the memory to everything that is not the old generation of the heap.
  const heapMegabytes = Math.floor(settings.memoryMegabytes * 0.9);
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMegabytes}`, bootstrap], {
    cwd: settings.codeDirectory,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.once('exit', () => {
    // What the process had started goes with it, as the sandbox does in the cloud. The number cannot have been given away in this instant:
    // its owner was reaped just now, and a group that still has members keeps it taken.
    signalGroup(child.pid, 'SIGKILL');
    // A grandchild that left the group may hold the pipes open for ever; what the process itself wrote is read long before.
    const giveUp = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, 1000);
    child.once('close', () => clearTimeout(giveUp));
  });
  return child;
}

/** Signals a process with all its descendants, frozen or not; one that is gone already is no error. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // macOS answers EPERM where the group has only zombies left.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
