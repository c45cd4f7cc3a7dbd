import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Database } from '../../../shared/db/database.ts';
import { ask } from './use-api.ts';

const untouched: Database = {
  query: () => Promise.reject(new Error('the page must not need the database')),
  transaction: () => Promise.reject(new Error('the page must not need the database')),
  close: async () => {},
};
const directory = join(import.meta.dirname, '../../../functions/api/page');

it.each([
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
])('%s serves %s, asks to be revalidated, and is not sent again unchanged', async (path, name, contentType) => {
  const reply = await ask(untouched, path);
  expect(reply).toMatchObject({ status: 200, text: readFileSync(join(directory, name), 'utf8') });
  expect(reply.headers).toMatchObject({ 'content-type': contentType, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
  const again = await ask(untouched, path, { headers: { 'if-none-match': String(reply.headers.etag) } });
  expect(again).toMatchObject({ status: 304, text: undefined });
});

it('the page may load nothing but its own script, style and data', async () => {
  const { headers } = await ask(untouched, '/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'",
  );
});

it('the page has no inline script or style, which its policy would refuse', () => {
  const html = readFileSync(join(directory, 'page.html'), 'utf8');
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/i);
});

it('the script never turns text into markup or code', () => {
  const script = readFileSync(join(directory, 'page.js'), 'utf8');
  expect(script).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|setHTML|createContextualFragment|DOMParser|document\.write|eval\(|new Function|srcdoc/,
  );
});
