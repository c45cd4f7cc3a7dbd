#!/usr/bin/env node
import { existsSync } from 'node:fs';

// Plain JavaScript on purpose: an older Node reads this file and can say what is missing, where it could not even load the others.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `waybill needs Node.js 24 or newer, but this is ${process.version}. On Linux, run it through npm (npx waybill, npm start), which brings its own; elsewhere install Node.js 24.`,
  );
  process.exit(1);
}
// A clone has the sources, an installed package the JavaScript made from them.
await import(existsSync(new URL('./main.ts', import.meta.url)) ? './main.ts' : './main.js');
