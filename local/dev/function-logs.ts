import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import type { DataDirectory } from '../data-directory.ts';

/** One file per function, begun anew at each start. */
export function openLogs(data: DataDirectory): (name: string, text: string) => void {
  rmSync(data.join('logs'), { recursive: true, force: true });
  mkdirSync(data.join('logs'), { recursive: true });
  const streams = new Map<string, ReturnType<typeof createWriteStream>>();
  return (name, text) => {
    const stream = streams.get(name) ?? createWriteStream(data.join('logs', `${name.replaceAll('/', '-')}.log`), { flags: 'a' });
    streams.set(name, stream);
    stream.write(`${text}\n`);
  };
}

/** A line as the object it is, or as text. */
export function parseLine(text: string): Record<string, unknown> | string {
  if (!text.startsWith('{')) return text;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}
