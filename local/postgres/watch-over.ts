import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Reading ends when nobody holds the other end of its input any more. What `postmaster.pid` names is signalled only if its command line names the directory: process ids are reused. The wait is
 * for Postgres, which still writes while it stops; SIGQUIT takes it a moment, since nothing is to be kept.
 */
const SCRIPT = `
while read -r _; do :; done
if read -r id < "$1/data/postmaster.pid"; then
  { cat "/proc/$id/cmdline" 2> /dev/null || ps -ww -o command= -p "$id"; } | tr '\\0' ' ' | grep -qF -- "-D $1/data " && kill -QUIT "$id"
  tries=0
  while [ -e "$1/data/postmaster.pid" ] && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
fi
rm -rf -- "$1"
`;

/**
 * Has another process stop the server in this directory, and remove the directory, as soon as this process or thread is gone, however it went: test runners end their workers with SIGTERM,
 * which leaves no code of theirs a moment to clean up. Nothing tells the watch that the time has come; the system closes the pipe between the two.
 *
 * It is a session of its own, or Ctrl-C would end it together with the process that it outlives. If it cannot be started, or is killed, what it should have done is done by the next sweep.
 */
export function watchOver(directory: string): { end(): void } {
  const watch = spawn('/bin/sh', ['-c', SCRIPT, 'waybill-watch', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: '/usr/bin:/bin' },
  });
  watch.on('error', () => {});
  watch.stdin.on('error', () => {});
  watch.unref();
  (watch.stdin as unknown as Socket).unref();
  return { end: () => watch.stdin.end() };
}
