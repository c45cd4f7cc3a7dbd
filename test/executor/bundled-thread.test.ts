import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { bundleExecutor } from '../../infra/bundle/bundle-executor.ts';
import { bundleFunction } from '../../infra/bundle/bundle-function.ts';
import { claimExecutions } from '../../shared/executor/claim-executions.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { useExecutor } from './use-executor.ts';

const executor = useExecutor();
const temporary = useTemporaryDirectory();
const source = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

it('the executor’s bundle brings the renewal thread, which loads no user code', () => {
  const bundle = bundleExecutor({ app: source('examples/etl/app.ts'), outputDirectory: join(temporary.path, 'executor') });
  expect(readdirSync(bundle.directory)).toContain('renewal-thread.mjs');
  const reached = new Set<string>();
  const visit = (name: string) => {
    if (reached.has(name) || !bundle.outputs[name]) return;
    reached.add(name);
    for (const { path } of bundle.outputs[name].imports) visit(path.split('/').at(-1)!);
  };
  visit('renewal-thread.mjs');
  const inputs = [...reached].flatMap((name) => Object.keys(bundle.outputs[name]!.inputs));
  expect(inputs.some((path) => path.endsWith('shared/executor/renew-leases.ts'))).toBe(true);
  expect(inputs.filter((path) => path.includes('examples/'))).toEqual([]);
});

it('a thread that is started from a bundle renews the lease of a run that blocks', async () => {
  const { directory } = bundleFunction({
    name: 'keeper',
    entry: source('shared/executor/keep-leases.ts'),
    entries: { 'renewal-thread': source('shared/executor/renewal-thread.ts') },
    outputDirectory: join(temporary.path, 'keeper'),
  });
  const id = await executor.plant();
  const leaseToken = randomUUID();
  await claimExecutions(executor.database, { ids: [id], leaseToken, leaseSeconds: 1, requestId: 'r', logStream: 'l' });
  const before = (await executor.row(id)).lease_expires_at as Date;
  // In a process without this project: no loader, only what is in the bundle; and its event loop never turns once while the thread works.
  const script = `
    const { keepLeases } = await import(${JSON.stringify(pathToFileURL(join(directory, 'index.mjs')).href)});
    const log = { warn: (message, fields) => console.log(message, fields) };
    keepLeases({
      databaseUrl: ${JSON.stringify(executor.url)}, leaseToken: ${JSON.stringify(leaseToken)}, leases: [{ id: ${id}, renewUntilAt: new Date('2100-01-01') }],
      timings: { leaseSeconds: 60, firstRenewalMs: 50, renewalMs: 200, renewalRetryMs: 100, renewalAttemptMs: 5000 },
      onLost: () => console.log('lost'), onCancelRequested: () => console.log('cancelled'), log,
    });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: '/', encoding: 'utf8' });
  expect(stdout).toBe('');
  const after = (await executor.row(id)).lease_expires_at as Date;
  expect(after.getTime() - before.getTime()).toBeGreaterThan(30_000);
});
