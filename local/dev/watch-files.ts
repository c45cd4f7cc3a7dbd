import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Editors write a file in several steps, and saving all writes several files: one change is what comes to rest. */
const REST_MS = 100;
const SOURCE = /\.([cm]?[jt]sx?|json)$/;

export interface Watched {
  /** Replaces the files that are looked at. */
  update(files: string[]): void;
  /** Looks at every source file beside them, too, until the next update: what mends a failed build may be a file that was missing. */
  widen(): void;
  close(): void;
}

/**
 * Says that one of the files changed. Their directories are watched rather than they themselves, because many editors replace a file
 * instead of writing into it, which ends a watch on the file.
 */
export function watchFiles(files: string[], onChange: () => void): Watched {
  let watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  let isWide = false;

  function update(next: string[]): void {
    isWide = false;
    for (const watcher of watchers) watcher.close();
    watchers = [...Map.groupBy(next, dirname)].flatMap(([directory, members]) => {
      const names = new Set(members.map((file) => basename(file)));
      try {
        const watcher = watch(directory, (_, name) => {
          if (name !== null && !names.has(name) && !(isWide && SOURCE.test(name))) return;
          clearTimeout(timer);
          timer = setTimeout(onChange, REST_MS);
        });
        watcher.on('error', () => {});
        return [watcher];
      } catch {
        // The directory went away with its files; whoever imported them has changed too, and is watched.
        return [];
      }
    });
  }

  update(files);
  return {
    update,
    widen() {
      isWide = true;
    },
    close() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
