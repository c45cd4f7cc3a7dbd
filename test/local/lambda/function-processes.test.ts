import { expect, test } from 'vitest';
import { LambdaFunction } from '../../../local/lambda/lambda-function.ts';
import { functionSettings, openGate, payloadOf, processState, startFunction, until, writeBundle } from './lambda-fixture.ts';

/** Counts its invocations, says when two overlap in one process, and waits at the gate when it is told to. */
const waitAtGate = `
  let count = 0;
  let running = 0;
  export const handler = async (event) => {
    count += 1;
    running += 1;
    const overlaps = running > 1;
    if (event.gate) await (await fetch(event.gate)).text();
    running -= 1;
    return { pid: process.pid, count, overlaps };
  };`;

interface Told {
  pid: number;
  count: number;
  overlaps: boolean;
}

test('a process is used again, with the state of its modules', async () => {
  const { lambda } = await startFunction(waitAtGate, { maxConcurrency: 5 });
  const first = payloadOf<Told>(await lambda.invoke({}));
  const second = payloadOf<Told>(await lambda.invoke({}));
  expect(second).toEqual({ pid: first.pid, count: 2, overlaps: false });
});

test('invocations at the same time run in processes of their own up to the limit, and then are throttled', async () => {
  const gate = await openGate();
  const { lambda } = await startFunction(waitAtGate, { maxConcurrency: 2 });
  const running = [lambda.invoke({ gate: gate.url }), lambda.invoke({ gate: gate.url })];
  expect(await lambda.invoke({})).toEqual({ status: 'throttled' });
  await gate.arrivals(2);
  expect(await lambda.invoke({})).toEqual({ status: 'throttled' });
  gate.letGo();
  const told = (await Promise.all(running)).map((result) => payloadOf<Told>(result));
  expect(new Set(told.map(({ pid }) => pid)).size).toBe(2);
  expect(told.every(({ count, overlaps }) => count === 1 && !overlaps)).toBe(true);
  expect(payloadOf<Told>(await lambda.invoke({})).count).toBe(2);
});

test('however many callers there are, a process has one invocation at a time', async () => {
  const { lambda } = await startFunction(waitAtGate, { maxConcurrency: 2 });
  const told: Told[] = [];
  async function call(): Promise<void> {
    for (let served = 0; served < 20; ) {
      const result = await lambda.invoke({});
      if (result.status === 'throttled') await new Promise(setImmediate);
      else served = told.push(payloadOf<Told>(result)) && served + 1;
    }
  }
  await Promise.all([call(), call(), call(), call()]);
  expect(told).toHaveLength(80);
  expect(told.some(({ overlaps }) => overlaps)).toBe(false);
  const pids = new Set(told.map(({ pid }) => pid));
  expect(pids.size).toBeLessThanOrEqual(2);
  for (const pid of pids) {
    const counts = told.filter((one) => one.pid === pid).map(({ count }) => count);
    expect(counts.toSorted((a, b) => a - b)).toEqual(counts.map((_, index) => index + 1));
  }
});

test('between invocations a process is stopped and its timers do not run', async () => {
  const source = `
    const ticks = [];
    setInterval(() => ticks.push(Date.now()), 1);
    export const handler = async () => ({ pid: process.pid, ticks });`;
  const { lambda, runtime } = await startFunction(source);
  const clockBundle = writeBundle('export const handler = () => new Promise((resolve) => setTimeout(resolve, 100));');
  const clock = new LambdaFunction(functionSettings(clockBundle, { name: 'clock' }), runtime);

  const { pid } = payloadOf<{ pid: number }>(await lambda.invoke({}));
  await until('the process is stopped', async () => (await processState(pid)) === 'T');
  const idleFrom = Date.now();
  payloadOf(await clock.invoke({}));
  expect(await processState(pid)).toBe('T');
  const idleTo = Date.now();
  const { ticks } = payloadOf<{ ticks: number[] }>(await lambda.invoke({}));

  expect(idleTo - idleFrom).toBeGreaterThanOrEqual(99);
  expect(ticks.length).toBeGreaterThan(0);
  expect(ticks.filter((at) => at > idleFrom && at < idleTo)).toEqual([]);
});

test('a process runs on between invocations until its start has been recorded, and what it writes then belongs to none', async () => {
  const recorded = Promise.withResolvers<void>();
  const onProcess = ({ event }: { event: string }) => (event === 'started' ? recorded.promise : undefined);
  const source = `
    let count = 0;
    export const handler = async () => {
      if (count === 0) setInterval(() => console.log('tick'), 1);
      count += 1;
      return { pid: process.pid, count };
    };`;
  const { lambda, logs } = await startFunction(source, {}, { onProcess });
  const { pid } = payloadOf<Told>(await lambda.invoke({}));
  const idleFrom = logs.length;
  await until('ten ticks', () => logs.length >= idleFrom + 10);
  expect(logs.slice(idleFrom).filter((line) => line.requestId !== undefined)).toEqual([]);
  recorded.resolve();
  await until('the process is stopped', async () => (await processState(pid)) === 'T');
  expect(payloadOf<Told>(await lambda.invoke({})).count).toBe(2);
});

test('an idle process that somebody killed is replaced', async () => {
  const ended = Promise.withResolvers<void>();
  const { lambda } = await startFunction(waitAtGate, {}, { onProcess: ({ event }) => (event === 'ended' ? ended.resolve() : undefined) });
  const { pid } = payloadOf<Told>(await lambda.invoke({}));
  process.kill(pid, 'SIGKILL');
  await ended.promise;
  expect(payloadOf<Told>(await lambda.invoke({}))).toMatchObject({ count: 1 });
});

test('an update ends idle processes, lets running invocations finish on the old code, and starts the next on the new', async () => {
  const gate = await openGate();
  const { lambda, settings } = await startFunction(waitAtGate, { maxConcurrency: 3 });
  const [running, other] = [lambda.invoke({ gate: gate.url }), payloadOf<Told>(await lambda.invoke({}))];
  await gate.arrivals(1);

  const codeDirectory = writeBundle('export const handler = async () => "new " + process.env.COLOUR;');
  await lambda.update({ ...settings, codeDirectory, environment: { COLOUR: 'green' } });
  expect(await processState(other.pid)).toBe('');
  expect(payloadOf(await lambda.invoke({}))).toBe('new green');

  gate.letGo();
  const { pid, count } = payloadOf<Told>(await running);
  expect(count).toBe(1);
  await until('the old process is gone', async () => (await processState(pid)) === '');
  expect(payloadOf(await lambda.invoke({}))).toBe('new green');
});

test('stopping leaves no process, frozen or running, nor what a function has started itself', async () => {
  const gate = await openGate();
  const source = `
    import { spawn } from 'node:child_process';
    export const handler = async (event) => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      if (event.gate) await (await fetch(event.gate + '/' + process.pid + '/' + child.pid)).text();
      return [process.pid, child.pid];
    };`;
  const events: string[] = [];
  const onProcess = ({ pid, event }: { pid: number; event: string }) => void events.push(`${event} ${pid}`);
  const { lambda } = await startFunction(source, { maxConcurrency: 2 }, { onProcess });
  const running = lambda.invoke({ gate: gate.url });
  const [path] = await gate.arrivals(1);
  const runningPids = path!.split('/').slice(1).map(Number);
  const idlePids = payloadOf<number[]>(await lambda.invoke({}));

  await lambda.stop();
  expect(await running).toMatchObject({ status: 'failed', error: { errorType: 'Runtime.ExitError' } });
  for (const pid of [...runningPids, ...idlePids]) await until(`process ${pid} is gone`, async () => (await processState(pid)) === '');
  for (const pid of [runningPids[0], idlePids[0]]) expect(events).toEqual(expect.arrayContaining([`started ${pid}`, `ended ${pid}`]));
  expect(await lambda.invoke({})).toMatchObject({ status: 'failed', error: { errorMessage: expect.stringContaining('is stopped') } });
});

test('a process that leaves by itself takes along what it has started, even if that holds its output open', async () => {
  const source = `
    import { spawn } from 'node:child_process';
    export const handler = async () => {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      console.log(child.pid);
      process.exit(1);
    };`;
  const { lambda, logs } = await startFunction(source);
  expect(await lambda.invoke({})).toMatchObject({ status: 'failed', error: { errorType: 'Runtime.ExitError' } });
  const pid = Number(logs[0]?.text);
  await until('the grandchild is gone', async () => (await processState(pid)) === '');
});

test('closing the runtime ends the processes of every function', async () => {
  const { lambda, runtime } = await startFunction(waitAtGate);
  const { pid } = payloadOf<Told>(await lambda.invoke({}));
  await runtime.close();
  expect(await processState(pid)).toBe('');
  expect(await lambda.invoke({})).toMatchObject({ status: 'failed', error: { errorMessage: expect.stringContaining('is closed') } });
});
