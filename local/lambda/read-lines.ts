import type { Readable } from 'node:stream';

/** A line longer than this is handed on in pieces, so that a function that never ends its line cannot fill our memory. */
const longestLineCharacters = 256 * 1024;

/** Hands on whole lines of a stream. The returned function hands on what is left without a line end, when no more of it is expected. */
export function readLines(stream: Readable, onLine: (text: string) => void): () => void {
  let partial = '';
  function flush(): void {
    if (partial !== '') onLine(partial);
    partial = '';
  }
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = chunk.split('\n');
    partial += lines.shift();
    for (const line of lines) {
      onLine(partial.endsWith('\r') ? partial.slice(0, -1) : partial);
      partial = line;
    }
    if (partial.length > longestLineCharacters) flush();
  });
  return flush;
}
