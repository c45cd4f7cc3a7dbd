#!/usr/bin/env node
// Plain JavaScript on purpose: an older Node reads this file and can say what is missing, where it could not even load the others.
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `waybill needs Node.js 24 or newer, but this is ${process.version}. On Linux, run it through npm (npm start, npm run waybill), which brings its own; elsewhere install Node.js 24.`,
  );
  process.exit(1);
}
await import('./main.ts');
