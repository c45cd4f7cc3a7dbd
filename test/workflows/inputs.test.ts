import { describe, expect, it } from 'vitest';
import { app, every, type Scheduler } from '../../shared/index.ts';
import { http, lambda, sql } from '../../shared/workflows/index.ts';
import { readRetryAfterSeconds } from '../../shared/workflows/retry-after.ts';
import { mistakesOf } from '../define/use-mistakes.ts';

const define = (manifests: (scheduler: Scheduler) => void) =>
  app({ name: 'calls', workflows: [http, lambda, sql], manifests }).toDefinition();

/** Everything that is wrong with an input, as `cdk synth` would tell it. */
async function mistakesIn(workflow: typeof http | typeof lambda | typeof sql, input: unknown): Promise<string[]> {
  const mistakes = await mistakesOf(
    define((scheduler) => scheduler.schedule(workflow as typeof http, 'call', input as never, every.hours(1))),
  );
  return mistakes.map((mistake) => mistake.replace("manifest 'call': its input is invalid ", ''));
}

const url = 'https://example.com/a';
const reference = "{ secret: 'name or ARN', key? } or { environment: 'NAME' }";

it('an app lists the built-in workflows that it uses, and declares manifests of them without code', async () => {
  const { workflows, manifests } = await define((scheduler) =>
    scheduler
      .schedule(http, 'ping', { url, headers: { authorization: { secret: 'api', key: 'token', prefix: 'Bearer ' } } }, every.minutes(5))
      .include(lambda, 'resize', { functionName: 'resize', payload: [1], invocationType: 'Event' })
      .thenInclude(sql, 'refresh', { database: { environment: 'WAREHOUSE_URL' }, statements: ['refresh materialized view sales'] }),
  );
  expect(workflows).toEqual([
    { name: 'waybill/http', pool: 'default', inputSchema: expect.objectContaining({ type: 'object', required: ['url'] }) },
    { name: 'waybill/lambda', pool: 'default', inputSchema: expect.objectContaining({ required: ['functionName'] }) },
    { name: 'waybill/sql', pool: 'default', inputSchema: expect.objectContaining({ required: ['database', 'statements'] }) },
  ]);
  expect(manifests.map(({ workflow }) => workflow)).toEqual(['waybill/http', 'waybill/lambda', 'waybill/sql']);
});

it('inputs are checked by the compiler too', () => {
  return mistakesOf(
    define((scheduler) => {
      // @ts-expect-error an unknown method
      scheduler.schedule(http, 'a', { url, method: 'FETCH' }, every.hours(1));
      // @ts-expect-error a database is a reference
      scheduler.schedule(sql, 'b', { database: 'postgres://x', statements: [] }, every.hours(1));
      // @ts-expect-error a function has a name
      scheduler.schedule(lambda, 'c', { payload: {} }, every.hours(1));
    }),
  );
});

describe('a request', () => {
  it.each<[string, object, string[]]>([
    ['without a URL', {}, ["at 'url': is missing"]],
    ['with no URL', { url: '/a' }, ["at 'url': is no URL: it must be complete, as in https://example.com/path"]],
    ['with another protocol', { url: 'ftp://a/b' }, ["at 'url': has the protocol 'ftp:': allowed are http: and https:"]],
    [
      'with a password',
      { url: 'https://u:p@a/' },
      ["at 'url': holds a user or password: give them in an authorization header, as a reference"],
    ],
    ['with a URL that is a number', { url: 7 }, [`at 'url': must be a URL, ${reference}, got 7`]],
    [
      'with an unknown field',
      { url, verb: 'GET' },
      [expect.stringMatching(/^at 'verb': is unknown here; allowed are url, method, headers, /)],
    ],
    [
      'with an unknown method',
      { url, method: 'get' },
      ['at \'method\': must be one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, got "get"'],
    ],
    ['with a body where there is none', { url, body: 1 }, ["at 'body': is not allowed with GET"]],
    [
      'with a secret in it',
      { url, headers: { Authorization: 'Bearer abc', 'x-api-key': 'abc', Cookie: 'a' } },
      ['Authorization', 'x-api-key', 'Cookie'].map(
        (name) => `at 'headers.${name}': looks like a secret, and inputs are stored and shown: give ${reference} instead`,
      ),
    ],
    [
      'with headers of the connection',
      { url, headers: { Host: 'a', 'content-length': '1' } },
      [
        "at 'headers.Host': is set by the connection itself: leave it out",
        "at 'headers.content-length': is set by the connection itself: leave it out",
      ],
    ],
    [
      'with odd headers',
      { url, headers: { 'a b': 'c', 'x-a': 'b\r\nc: d' } },
      ["at 'headers.a b': is no name of a header", "at 'headers.x-a': holds a character that a header must not have"],
    ],
    [
      'with a header twice',
      { url, headers: { 'x-a': '1', 'X-A': '2' } },
      ["at 'headers.x-a': is given twice, in different cases", "at 'headers.X-A': is given twice, in different cases"],
    ],
    [
      'with the function’s own credentials',
      { url, headers: { 'x-a': { environment: 'AWS_SESSION_TOKEN' } } },
      [`at 'headers.x-a': must be text, ${reference}, got an object`],
    ],
    [
      'with limits out of range',
      { url, timeoutSeconds: 0, maxResponseBytes: 200_001, maxRedirects: 1.5, expectedStatuses: [99] },
      [
        "at 'expectedStatuses.0': must be a whole number from 200 to 599, got 99",
        "at 'maxRedirects': must be a whole number from 0 to 20, got 1.5",
        "at 'maxResponseBytes': must be a whole number from 0 to 200000, got 200001",
        "at 'timeoutSeconds': must be a whole number from 1 to 900, got 0",
      ],
    ],
    [
      'that would keep a secret',
      { url, keepHeaders: ['Set-Cookie'] },
      ["at 'keepHeaders.0': must not be 'Set-Cookie', which is not to be stored"],
    ],
  ])('%s is refused', async (_, input, expected) => {
    expect((await mistakesIn(http, input)).sort()).toEqual(expected.sort());
  });
});

describe('an invocation', () => {
  it.each<[string, object, string]>([
    [
      'of no function',
      { functionName: 'a/b' },
      'at \'functionName\': must be the name or ARN of a function, in at most 200 characters, got "a/b"',
    ],
    [
      'of another type',
      { functionName: 'a', invocationType: 'DryRun' },
      'at \'invocationType\': must be one of RequestResponse, Event, got "DryRun"',
    ],
  ])('%s is refused', async (_, input, expected) => {
    expect(await mistakesIn(lambda, input)).toEqual([expected]);
  });

  it('with more than Lambda takes is refused', () => {
    const validate = (payload: string, invocationType: 'Event' | 'RequestResponse') =>
      lambda.input['~standard'].validate({ functionName: 'a', payload, invocationType });
    const large = 'x'.repeat(1024 * 1024);
    expect(validate(large, 'RequestResponse')).toHaveProperty('value');
    expect(validate(large, 'Event')).toMatchObject({
      issues: [{ path: ['payload'], message: 'has 1048578 bytes of JSON: an invocation of type Event takes 1048576' }],
    });
  });
});

describe('a script', () => {
  const database = { environment: 'WAREHOUSE_URL' };
  it.each<[string, object, string]>([
    ['with the URL itself', { database: 'postgres://u:p@h/d', statements: ['a'] }, `at 'database': must be ${reference}, got text`],
    ['without statements', { database, statements: [] }, "at 'statements': must be a list of 1 to 200 items, got a list of 0"],
    [
      'with an empty statement',
      { database, statements: [''] },
      "at 'statements.0': must be SQL as text, or { text: 'select … $1', values: […] }, got text",
    ],
    ['with a flag that is none', { database, statements: ['a'], transaction: 'no' }, 'at \'transaction\': must be true or false, got "no"'],
  ])('%s is refused', async (_, input, expected) => {
    expect(await mistakesIn(sql, input)).toEqual([expected]);
  });
});

describe('Retry-After', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT';
  it.each<[string, string | undefined, string | undefined, number | undefined]>([
    ['is seconds', '120', undefined, 120],
    ['is at least one', '0', undefined, 1],
    ['is an instant on the clock of the server', 'Wed, 21 Oct 2026 07:30:00 GMT', date, 120],
    ['is an instant on our clock if the server tells no time', new Date(61_000).toUTCString(), undefined, 61],
    ['is over', 'Wed, 21 Oct 2026 07:00:00 GMT', date, 1],
    ['is nonsense', 'soon', date, undefined],
    ['is negative', '-5', date, undefined],
    ['is not there', undefined, date, undefined],
  ])('%s', (_, retryAfter, server, expected) => {
    expect(readRetryAfterSeconds({ 'retry-after': retryAfter, date: server }, 0)).toBe(expected);
  });
});
