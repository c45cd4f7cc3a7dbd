import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import type { LogLine } from '../../../local/lambda/function-process.ts';
import type { FunctionSettings } from '../../../local/lambda/function-settings.ts';
import type { FunctionError, InvocationResult } from '../../../local/lambda/invocation.ts';
import { LambdaFunction } from '../../../local/lambda/lambda-function.ts';
import { type LambdaRuntimeOptions, startLambdaRuntime } from '../../../local/lambda/lambda-runtime.ts';

/** Writes the files of a bundle to a directory of its own, which is gone after the test. */
export function writeBundle(files: Record<string, string> | string): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-lambda-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(typeof files === 'string' ? { 'index.mjs': files } : files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

export function functionSettings(codeDirectory: string, settings: Partial<FunctionSettings> = {}): FunctionSettings {
  return {
    name: 'example',
    arn: 'arn:aws:lambda:eu-west-1:000000000000:function:example',
    codeDirectory,
    handler: 'index.handler',
    timeoutSeconds: 20,
    memoryMegabytes: 256,
    environment: {},
    maxConcurrency: 1,
    accessKeyId: 'AKIAEXAMPLE',
    ...settings,
  };
}

/** A runtime that is closed after the test, with everything it told. */
export async function startRuntime(options: Partial<LambdaRuntimeOptions> = {}) {
  const logs: LogLine[] = [];
  const runtime = await startLambdaRuntime({
    awsEndpointUrl: 'http://127.0.0.1:4566',
    region: 'eu-west-1',
    onLog: (line) => logs.push(line),
    ...options,
  });
  onTestFinished(() => runtime.close());
  return { runtime, logs };
}

/** One function from the source of its `index.mjs`, or from the files of its bundle. */
export async function startFunction(
  files: Record<string, string> | string,
  partial: Partial<FunctionSettings> = {},
  options: Partial<LambdaRuntimeOptions> = {},
) {
  const { runtime, logs } = await startRuntime(options);
  const settings = functionSettings(writeBundle(files), partial);
  return { lambda: new LambdaFunction(settings, runtime), settings, runtime, logs };
}

export function payloadOf<T>(result: InvocationResult): T {
  if (result.status !== 'succeeded') throw new Error(`expected a payload, got ${JSON.stringify(result)}`);
  return result.payload as T;
}

export function errorOf(result: InvocationResult): FunctionError {
  if (result.status !== 'failed') throw new Error(`expected an error, got ${JSON.stringify(result)}`);
  return result.error;
}

/** A place where handlers wait: they `fetch` its url and go on when the test lets them. */
export async function openGate() {
  const waiting: ServerResponse[] = [];
  const server = createServer((_, response) => {
    waiting.push(response);
    server.emit('arrived');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves with the paths asked for once so many handlers are waiting. */
    async arrivals(count: number): Promise<string[]> {
      while (waiting.length < count) await once(server, 'arrived');
      return waiting.map((response) => response.req.url ?? '');
    },
    letGo(): void {
      for (const response of waiting.splice(0)) response.end();
    },
  };
}

/** The first letter of what the system says about a process: T is stopped, an empty text is gone or a zombie. */
export async function processState(pid: number): Promise<string> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=', '-p', String(pid)]).catch((error) => {
    if (error.code === 1) return { stdout: '' };
    throw error;
  });
  return stdout.trim().charAt(0).replace('Z', '');
}

export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const giveUpAt = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`not seen within 10 seconds: ${what}`);
    await delay(5);
  }
}
