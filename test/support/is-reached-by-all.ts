import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Whether any user can come to a path. One who is to run this checkout's own code has to. */
export function isReachedByAll(path: string): boolean {
  return (statSync(path).mode & 0o001) > 0 && (dirname(path) === path || isReachedByAll(dirname(path)));
}
