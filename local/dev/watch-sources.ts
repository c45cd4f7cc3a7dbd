import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { isClone, packageRoot } from '../../infra/bundle/package-root.ts';
import { messageOf } from '../../shared/errors.ts';
import type { DevEvents } from './dev-events.ts';
import { type Watched, watchFiles } from './watch-files.ts';

export interface WatchSources {
  inputs: string[];
  rebuildApp(): Promise<string[]>;
  resynthesize(): Promise<string[]>;
  events: DevEvents;
  /** Aborted at the end, which is no problem to report. */
  signal: AbortSignal;
}

/** Watches the app's files, and in a clone those of Waybill itself. Changes are taken one after the other; a failed one leaves what runs. */
export async function watchSources({
  inputs,
  rebuildApp,
  resynthesize,
  events,
  signal,
}: WatchSources): Promise<{ close(): Promise<void> }> {
  const ownRooms = ['infra', 'functions', 'shared'].map((room) => join(packageRoot, room) + sep);
  const isOwn = (file: string) => ownRooms.some((room) => file.startsWith(room));
  const appFiles = (files: string[]) => files.filter((file) => !isOwn(file));
  let working = Promise.resolve();
  const take = (what: string, work: () => Promise<string[]>, watched: () => Watched) => () => {
    working = working.then(async () => {
      const startedAt = performance.now();
      try {
        watched().update(appFiles(await work()));
        events.onProgress(`${what} in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
      } catch (error) {
        watched().widen();
        if (!signal.aborted) events.onProblem({ source: 'rebuild', message: messageOf(error), error });
      }
    });
  };
  const app: Watched = watchFiles(
    appFiles(inputs),
    take('app rebuilt', rebuildApp, () => app),
  );
  const own = watchFiles(
    isClone ? await listSources(ownRooms) : [],
    take('stack rebuilt', resynthesize, () => app),
  );
  return {
    async close() {
      app.close();
      own.close();
      await working;
    },
  };
}

async function listSources(rooms: string[]): Promise<string[]> {
  const listed = await Promise.all(rooms.map((room) => readdir(room, { recursive: true, withFileTypes: true })));
  return listed.flat().flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}
