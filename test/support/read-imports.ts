import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** One import: from a file to another file (both relative to the root) or to a package. */
export interface Import {
  from: string;
  to: string;
  isPackage: boolean;
  /** Erased before anything runs. */
  isType: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'\s*\)/g;

/** Every import in the source files below these folders. */
export function readImports(root: string, folders: string[]): Import[] {
  return folders.flatMap((folder) => listSources(join(root, folder))).flatMap((file) => importsOf(root, file));
}

function listSources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.m?[jt]s$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
}

function importsOf(root: string, file: string): Import[] {
  const text = readFileSync(file, 'utf8');
  const found = [
    ...Array.from(text.matchAll(STATEMENT), ([, type, target]) => ({ target: target!, isType: type !== undefined })),
    ...Array.from(text.matchAll(CALL), ([, target]) => ({ target: target!, isType: false })),
  ];
  return found.map(({ target, isType }) => {
    const isPackage = !target.startsWith('.');
    return { from: relative(root, file), to: isPackage ? target : relative(root, join(dirname(file), target)), isPackage, isType };
  });
}
