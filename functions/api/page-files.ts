import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entityTag } from './answers.ts';

export interface PageFile {
  body: string;
  contentType: string;
  tag: string;
}

/** The page's files stay files, in the clone and beside the bundle; they are read once, when the process starts. */
function readPageFile(name: string, contentType: string): PageFile {
  const body = readFileSync(join(import.meta.dirname, 'page', name), 'utf8');
  return { body, contentType: `${contentType}; charset=utf-8`, tag: entityTag(body) };
}

export const pageHtml = readPageFile('page.html', 'text/html');
export const pageScript = readPageFile('page.js', 'text/javascript');
export const pageStyle = readPageFile('page.css', 'text/css');
