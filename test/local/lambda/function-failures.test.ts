import { describe, expect, test } from 'vitest';
import { errorOf, payloadOf, processState, startFunction } from './lambda-fixture.ts';

describe('a function that takes too long', () => {
  test.each([
    ['waits', 'await new Promise((resolve) => setTimeout(resolve, 60_000));'],
    ['never yields', 'for (;;);'],
  ])('is killed when it %s, and the next event goes to a fresh process', async (_, body) => {
    const source = `export const handler = async (event) => { console.log(process.pid); if (event.hang) { ${body} } return process.pid; };`;
    const { lambda, logs } = await startFunction(source, { timeoutSeconds: 1 });
    const error = errorOf(await lambda.invoke({ hang: true }));
    const { requestId, text } = logs[0]!;
    expect(error).toEqual({ errorType: 'Sandbox.Timedout', errorMessage: `${requestId} Task timed out after 1.00 seconds` });
    expect(await processState(Number(text))).toBe('');
    const pid = payloadOf<number>(await lambda.invoke({}));
    expect(pid).not.toBe(Number(text));
    expect(payloadOf(await lambda.invoke({}))).toBe(pid);
  });

  test('keeps its answer when only what it does afterwards takes too long', async () => {
    const source = `export const handler = async () => { setTimeout(() => { for (;;); }); return 'done'; };`;
    const { lambda } = await startFunction(source, { timeoutSeconds: 1 });
    expect(payloadOf(await lambda.invoke({}))).toBe('done');
  });

  test('has its limit counted from the event, not from the start of the process', async () => {
    const source = `await new Promise((resolve) => setTimeout(resolve, 1500)); export const handler = async () => 'in time';`;
    const { lambda } = await startFunction(source, { timeoutSeconds: 1 });
    expect(payloadOf(await lambda.invoke({}))).toBe('in time');
  });
});

describe('a process that ends in the middle of an invocation', () => {
  test.each([
    ['process.exit(3)', 'exit status 3'],
    ['process.exit()', 'exit status 0'],
    ['process.kill(process.pid, "SIGKILL"), await new Promise(() => setInterval(() => {}, 1000))', 'signal: SIGKILL'],
  ])('fails it: %s', async (leave, reason) => {
    const { lambda } = await startFunction(`export const handler = async (event) => { if (event.leave) { ${leave}; } return 'here'; };`);
    const error = errorOf(await lambda.invoke({ leave: true }));
    expect(error.errorType).toBe('Runtime.ExitError');
    expect(error.errorMessage).toMatch(new RegExp(`^RequestId: [0-9a-f-]{36} Error: Runtime exited with error: ${reason}$`));
    expect(payloadOf(await lambda.invoke({}))).toBe('here');
  });

  test.each([
    ['an exception that nobody catches', 'setImmediate(() => { throw new TypeError("lost"); });', 'TypeError', 'lost'],
    ['a rejection that nobody handles', 'Promise.reject(new Error("lost"));', 'Runtime.UnhandledPromiseRejection', 'lost'],
    ['nothing left to wait for', '', 'Runtime.NodeJsExit', 'never settled'],
  ])('reports why: %s', async (_, body, errorType, message) => {
    const source = `export const handler = async (event) => { if (event.end) { ${body} await new Promise(() => {}); } return process.pid; };`;
    const { lambda } = await startFunction(source);
    const pid = payloadOf(await lambda.invoke({}));
    expect(errorOf(await lambda.invoke({ end: true }))).toMatchObject({ errorType, errorMessage: expect.stringContaining(message) });
    expect(payloadOf(await lambda.invoke({}))).not.toBe(pid);
  });
});

describe('a function that cannot be loaded', () => {
  test.each([
    [
      'whose file throws',
      { 'index.mjs': 'throw new RangeError("bad setting");' },
      'ImportModuleError',
      ['index.mjs', 'RangeError', 'bad setting'],
    ],
    ['that imports what is missing', { 'index.mjs': 'import "./gone.mjs";' }, 'ImportModuleError', ['index.mjs', 'gone.mjs']],
    ['with a syntax error', { 'index.mjs': 'export const = 1;' }, 'ImportModuleError', ['index.mjs', 'SyntaxError']],
    ['whose file is missing', { 'other.mjs': '' }, 'ImportModuleError', ['index.js, .mjs or .cjs']],
    ['that lacks the export', { 'index.mjs': 'export const other = 1;' }, 'HandlerNotFound', ['index.mjs', "'handler'"]],
    [
      'that takes a callback',
      { 'index.mjs': 'export const handler = (event, context, callback) => callback();' },
      'CallbackHandlerDeprecated',
      ['index.mjs'],
    ],
    ['that leaves at once', { 'index.mjs': 'console.error("no licence"); process.exit(4);' }, 'ExitError', ['exit status 4', 'no licence']],
    [
      'that never finishes loading',
      { 'index.mjs': 'await new Promise(() => {}); export const handler = 1;' },
      'NodeJsExit',
      ['never settled'],
    ],
  ])('%s fails the invocation and names the culprit', async (_, files, errorType, parts) => {
    const { lambda } = await startFunction(files);
    const error = errorOf(await lambda.invoke({}));
    expect(error.errorType).toBe(`Runtime.${errorType}`);
    for (const part of parts) expect(error.errorMessage).toContain(part);
  });

  test('in time is killed, and what it wrote is told', async () => {
    const source = `console.error('connecting'); console.log(process.pid); setInterval(() => {}, 1000); await new Promise(() => {});`;
    const { lambda, logs } = await startFunction(source, {}, { initTimeoutSeconds: 2 });
    const error = errorOf(await lambda.invoke({}));
    expect(error.errorType).toBe('Runtime.InitTimeout');
    expect(error.errorMessage).toContain('connecting');
    expect(await processState(Number(logs.find((line) => line.stream === 'stdout')?.text))).toBe('');
  });

  test('because its name is malformed is refused', async () => {
    const { lambda } = await startFunction('', { handler: '../index.handler' });
    expect(errorOf(await lambda.invoke({})).errorType).toBe('Runtime.MalformedHandlerName');
  });

  test('because its bundle is missing names the directory', async () => {
    const { lambda } = await startFunction('', { codeDirectory: '/nonexistent/bundle' });
    expect(errorOf(await lambda.invoke({}))).toMatchObject({
      errorType: 'Runtime.StartError',
      errorMessage: expect.stringContaining('/nonexistent/bundle'),
    });
  });
});
