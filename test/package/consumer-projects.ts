/* The files of two projects that use the package, as their authors would write them. */

type Files = Record<string, string>;

/** A dependency of the old kind: CommonJS that requires modules of Node's by name. */
export const legacyMailer: Files = {
  'package.json': `{ "name": "legacy-mailer", "version": "1.0.0", "main": "index.js", "types": "index.d.ts" }`,
  'index.js': `const os = require('os');\nexports.sign = (text) => [text, typeof os.EOL, require('node:path').basename(__dirname).length > 0].join(' ');\n`,
  'index.d.ts': 'export declare function sign(text: string): string;\n',
};

const app = `
import { sign } from 'legacy-mailer';
import { app, cron, workflow } from 'waybill';
import { http } from 'waybill/workflows';
import { z } from 'zod';

export const report = workflow({
  name: 'report',
  input: z.object({ region: z.string() }),
  run: (_context, { region }) => ({ signed: sign(region) }),
});

export default app({
  name: 'shop',
  workflows: [report, http],
  manifests(scheduler) {
    scheduler
      .schedule(report, 'daily-report', { region: 'eu' }, cron('0 6 * * *', { timeZone: 'Europe/Berlin' }))
      .include(report, 'world-report', { region: 'world' });
  },
});
`;

const appTest = (ending: string) => `
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestKit } from 'waybill/testing';
import shop from './app${ending}';

test('a day of the shop', async () => {
  const kit = await createTestKit(shop, { startAt: '2026-01-01T00:00:00Z' });
  await kit.advanceTo('2026-01-02T00:00:00Z');
  const ended = (await kit.runs()).map(({ manifest, state, output }) => [manifest, state, output]);
  assert.deepEqual(ended, [
    ['daily-report', 'completed', { signed: 'eu string true' }],
    ['world-report', 'completed', { signed: 'world string true' }],
  ]);
  await kit.close();
});
`;

/** Each line is wrong. Were one of the declarations not found, everything from there would be `any`, and the line right. */
const mistakes = (ending: string) => `
import { every } from 'waybill';
import { createActivationClient } from 'waybill/activation';
import { Waybill } from 'waybill/cdk';
import { createClient } from 'waybill/client';
import { createTestKit } from 'waybill/testing';
import { http } from 'waybill/workflows';
import shop, { report } from './app${ending}';

// @ts-expect-error
every.fortnights(1);
// @ts-expect-error
createActivationClient({ functionName: 7 });
// @ts-expect-error
new Waybill();
// @ts-expect-error
createClient({ url: 7 });
// @ts-expect-error
createTestKit(shop).then((kit) => kit.runWorkflow(report, { region: 7 }));
// @ts-expect-error
http.nothing;
`;

const stack = `
import { Stack, type StackProps } from 'aws-cdk-lib/core';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { Waybill, WaybillDatabase } from 'waybill/cdk';

export class ShopStack extends Stack {
  constructor(scope: Construct, id: string, props?: StackProps) {
    super(scope, id, props);
    const databaseUrl = Secret.fromSecretNameV2(this, 'DatabaseUrl', 'shop/database-url');
    new Waybill(this, 'Jobs', { app: './jobs/app.ts', database: WaybillDatabase.fromUrlSecret(databaseUrl) });
  }
}
`;

/** What is written into a project that `cdk init` made: everything else is as it comes. */
export const cdkInitProject: Files = {
  'jobs/app.ts': app,
  'jobs/app.test.ts': appTest(''),
  'jobs/mistakes.ts': mistakes(''),
  'lib/shop-stack.ts': stack,
};

/** A project of ES modules whose TypeScript Node runs as it is. */
export const moduleProject: Files = {
  'package.json': `{ "name": "shop", "private": true, "type": "module" }`,
  'tsconfig.json': JSON.stringify({
    // The declarations of the package are checked too, not only what the app says about them.
    compilerOptions: {
      target: 'es2024',
      module: 'nodenext',
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      allowImportingTsExtensions: true,
      types: ['node'],
    },
  }),
  'bin/shop.ts': `
import { App } from 'aws-cdk-lib/core';
import { ShopStack } from '../lib/shop-stack.ts';

new ShopStack(new App(), 'ShopStack');
`,
  'jobs/app.ts': app,
  'jobs/app.test.ts': appTest('.ts'),
  'jobs/mistakes.ts': mistakes('.ts'),
  'lib/shop-stack.ts': stack,
};
