/**
 * Runs inside a function's process: loads the handler, then asks the Runtime API for one event after the other, as the nodejs24.x runtime
 * does in the cloud. Plain JavaScript without imports of ours, so that nothing but the bundle under test is loaded.
 *
 * All calls go over one kept connection. It closes only when the supervisor is gone, and then this process ends too, even in mid-handler:
 * nobody could take its answer.
 */
import { existsSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

const { env } = process;
const api = new URL(`http://${env.AWS_LAMBDA_RUNTIME_API}/2018-06-01/runtime`);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
agent.createConnection = (options) => connect(options).once('close', () => process.exit(1));

/** The path under which an error now belongs: the start, the invocation in hand, or nowhere once it is answered. */
let errorPath = '/init/error';

function call(method, path, body) {
  return new Promise((resolve) => {
    const options = { agent, method, host: api.hostname, port: api.port, path: api.pathname + path };
    const sent = request(options, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, text: Buffer.concat(chunks).toString() }));
    });
    sent.on('error', () => process.exit(1));
    sent.end(body);
  });
}

/** Any value can be thrown, and reading its properties can throw again; what is reported is always an object of strings. */
function describeError(thrown) {
  try {
    if (thrown instanceof Error || typeof thrown?.stack === 'string') {
      const stackTrace = String(thrown.stack ?? '').split('\n');
      return { errorType: String(thrown.name || 'Error'), errorMessage: String(thrown.message), stackTrace: stackTrace.filter(Boolean) };
    }
    const errorMessage = typeof thrown === 'string' ? thrown : inspect(thrown);
    return { errorType: thrown === null ? 'null' : typeof thrown, errorMessage, stackTrace: [] };
  } catch {
    return { errorType: 'Error', errorMessage: 'the handler threw a value that cannot be described', stackTrace: [] };
  }
}

const runtimeError = (name, message) => Object.assign(new Error(message), { name: `Runtime.${name}`, stack: '' });

/** A pipe that is full takes the rest later; a frozen process has no later. So nothing is answered before all output has left. */
async function flushOutput() {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength > 0) await new Promise((resolve) => Writable.prototype.write.call(stream, '', resolve));
  }
}

async function post(path, report) {
  await flushOutput();
  errorPath = undefined;
  await call('POST', path, report);
}

function reportError(thrown) {
  const report = describeError(thrown);
  console.error(JSON.stringify(report));
  return errorPath && post(errorPath, JSON.stringify(report));
}

/** The state of this process can no longer be trusted: report what happened and leave, a fresh process takes the next event. */
async function endWith(thrown) {
  await reportError(thrown);
  await flushOutput();
  process.exit(1);
}

process.on('uncaughtException', endWith);
process.on('unhandledRejection', (reason) => {
  const { errorMessage, stackTrace } = describeError(reason);
  endWith(Object.assign(runtimeError('UnhandledPromiseRejection', errorMessage), { stack: stackTrace.join('\n') }));
});
process.on('beforeExit', () => endWith(runtimeError('NodeJsExit', 'nothing is left to wait for, yet the promise in hand never settled')));

async function loadHandler() {
  const [, moduleName, exportPath] = /^([^.]+)\.(.+)$/.exec(basename(env._HANDLER)) ?? [];
  if (!moduleName || env._HANDLER.includes('..')) throw runtimeError('MalformedHandlerName', `'${env._HANDLER}' is not 'file.export'`);
  const stem = join(env.LAMBDA_TASK_ROOT, dirname(env._HANDLER), moduleName);
  const file = ['.js', '.mjs', '.cjs'].map((extension) => stem + extension).find((path) => existsSync(path));
  if (!file) throw runtimeError('ImportModuleError', `no file ${stem}.js, .mjs or .cjs: the handler is '${env._HANDLER}'`);
  const loaded = await import(pathToFileURL(file)).catch((cause) => {
    const { errorType, errorMessage, stackTrace } = describeError(cause);
    const error = runtimeError('ImportModuleError', `cannot import ${file}: ${errorType}: ${errorMessage}`);
    throw Object.assign(error, { stack: stackTrace.join('\n') });
  });
  const find = (root) => exportPath.split('.').reduce((value, name) => value?.[name], root);
  const handler = find(loaded) ?? find(loaded.default);
  if (typeof handler !== 'function') throw runtimeError('HandlerNotFound', `${file} does not export a function '${exportPath}'`);
  if (handler.length > 2) {
    throw runtimeError('CallbackHandlerDeprecated', `'${exportPath}' in ${file} takes a callback: nodejs24.x calls async (event, context)`);
  }
  return handler;
}

function buildContext(headers) {
  return {
    awsRequestId: headers['lambda-runtime-aws-request-id'],
    invokedFunctionArn: headers['lambda-runtime-invoked-function-arn'],
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Number(headers['lambda-runtime-deadline-ms']) - Date.now(),
  };
}

function serialize(value) {
  try {
    const text = JSON.stringify(value === undefined ? null : value);
    if (text !== undefined) return text;
  } catch (cause) {
    throw runtimeError('JSONStringifyError', `the handler returned a value that is not JSON: ${describeError(cause).errorMessage}`);
  }
  throw runtimeError('JSONStringifyError', `the handler returned a ${typeof value}, which is not JSON`);
}

async function serveInvocations() {
  const handler = await loadHandler().catch(endWith);
  for (;;) {
    errorPath = undefined;
    const { headers, text } = await call('GET', '/invocation/next');
    const path = `/invocation/${headers['lambda-runtime-aws-request-id']}`;
    errorPath = `${path}/error`;
    if (headers['lambda-runtime-trace-id']) env._X_AMZN_TRACE_ID = headers['lambda-runtime-trace-id'];
    try {
      await post(`${path}/response`, serialize(await handler(JSON.parse(text), buildContext(headers))));
    } catch (thrown) {
      await reportError(thrown);
    }
  }
}

serveInvocations();
