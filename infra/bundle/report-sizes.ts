import type { Bundle } from './bundle-function.ts';

export interface BundleSize {
  readonly name: string;
  /** All code, without source maps. */
  readonly totalBytes: number;
  /** What is read before the first invocation: `index.mjs` and all it imports statically. The cold start follows this figure. */
  readonly initialBytes: number;
  readonly fileCount: number;
}

export function measureBundle({ name, outputs }: Bundle): BundleSize {
  const modules = Object.entries(outputs).filter(([path]) => path.endsWith('.mjs'));
  const initial = new Set<string>();
  const visit = (path: string) => {
    if (initial.has(path) || outputs[path] === undefined) return;
    initial.add(path);
    for (const { path: imported, kind } of outputs[path].imports) if (kind === 'import-statement') visit(fileName(imported));
  };
  visit('index.mjs');
  return {
    name,
    totalBytes: sum(modules.map(([, output]) => output.bytes)),
    initialBytes: sum([...initial].map((path) => outputs[path]?.bytes ?? 0)),
    fileCount: modules.length,
  };
}

/** A table for people: one line per bundle. */
export function reportSizes(bundles: readonly Bundle[]): string {
  const rows = bundles
    .map(measureBundle)
    .map((size) => [size.name, kibibytes(size.totalBytes), kibibytes(size.initialBytes), `${size.fileCount}`]);
  const table = [['function', 'code', 'at start', 'files'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '))
    .join('\n');
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function kibibytes(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
