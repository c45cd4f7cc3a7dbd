import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { describeProcess, endProcessesLeftBehind } from '../../../local/lambda/left-behind-processes.ts';
import { functionSettings, processState, until, writeBundle } from './lambda-fixture.ts';

function startBystander() {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { pid: child.pid!, exited: once(child, 'exit') };
}

test('a process is described by a start that stays the same, and not at all once it is gone', async () => {
  const { pid, exited } = startBystander();
  const record = await describeProcess(pid);
  expect(record).toEqual({ pid, startedAt: expect.stringMatching(/\S/) });
  expect(await describeProcess(pid)).toEqual(record);
  process.kill(pid, 'SIGKILL');
  await exited;
  expect(await describeProcess(pid)).toBeUndefined();
});

test('a stopped process that was left behind is ended', async () => {
  const { pid, exited } = startBystander();
  const record = (await describeProcess(pid))!;
  process.kill(pid, 'SIGSTOP');
  expect(await endProcessesLeftBehind([record])).toEqual([pid]);
  expect(await exited).toEqual([null, 'SIGKILL']);
  expect(await endProcessesLeftBehind([record])).toEqual([]);
});

test('a process that has been given the pid of one left behind is not touched', async () => {
  const { pid } = startBystander();
  const { startedAt } = (await describeProcess(process.pid))!;
  expect(await endProcessesLeftBehind([{ pid, startedAt }])).toEqual([]);
  expect(await processState(pid)).not.toBe('');
});

test('when the supervisor is killed, running processes end by themselves and frozen ones are found by their records', async () => {
  const running = writeBundle(
    'export const handler = async () => { console.log("running"); await new Promise((resolve) => setTimeout(resolve, 60_000)); };',
  );
  const frozen = writeBundle('export const handler = async () => {};');
  const folder = new URL('../../../local/lambda/', import.meta.url);
  const source = `
    import { LambdaFunction } from '${new URL('lambda-function.ts', folder)}';
    import { startLambdaRuntime } from '${new URL('lambda-runtime.ts', folder)}';
    const runtime = await startLambdaRuntime({
      awsEndpointUrl: 'http://127.0.0.1:1', region: 'eu-west-1',
      onLog: ({ text, processId }) => console.log(text + ' ' + processId),
      onProcess: ({ pid }) => console.log('pid ' + pid),
    });
    await new LambdaFunction(${JSON.stringify(functionSettings(frozen, { name: 'frozen' }))}, runtime).invoke({});
    console.log('frozen');
    await new LambdaFunction(${JSON.stringify(functionSettings(running, { name: 'running', timeoutSeconds: 60 }))}, runtime).invoke({});`;
  const directory = writeBundle({ 'supervisor.mjs': source });
  const supervisor = spawn(process.execPath, [`${directory}/supervisor.mjs`], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void supervisor.kill('SIGKILL'));

  const pids: number[] = [];
  for await (const line of createInterface(supervisor.stdout)) {
    if (line.startsWith('pid ')) pids.push(Number(line.slice(4)));
    if (line.startsWith('running ')) break;
  }
  const [frozenPid, runningPid] = pids as [number, number];
  const records = await Promise.all(pids.map(async (pid) => (await describeProcess(pid))!));
  onTestFinished(async () => void (await endProcessesLeftBehind(records)));
  supervisor.kill('SIGKILL');
  await once(supervisor, 'exit');

  await until('the running process has ended', async () => (await processState(runningPid)) === '');
  expect(await processState(frozenPid)).toBe('T');
  expect(await endProcessesLeftBehind(records)).toEqual([frozenPid]);
  expect(await processState(frozenPid)).toBe('');
});
