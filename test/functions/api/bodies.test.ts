import { describe, expect, it } from 'vitest';
import { sql } from '../../../shared/db/sql.ts';
import type { HttpRequest } from './http-event.ts';
import { useOperations } from './use-operations.ts';

const { engine, post } = useOperations();
const json = { 'content-type': 'application/json' };

/** Triggers a manifest with a body exactly as it is written here. */
async function trigger(body: string, request: HttpRequest = {}) {
  await engine.sync([{ externalId: 'job', schedule: { type: 'none' } }]);
  return post('/v1/manifests/job/trigger', undefined, { headers: json, body, ...request });
}

const storedInput = async () => (await engine.rows<{ input: unknown }>(sql`select input from waybill.work_queue`))[0]?.input;
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('a body', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON'])('may come as %s', async (type) => {
    expect(await trigger('{"input":{"a":1}}', { headers: { 'content-type': type } })).toMatchObject({ status: 202 });
    expect(await storedInput()).toEqual({ a: 1 });
  });

  it.each([
    ['text/plain', "'text/plain'"],
    ['application/x-www-form-urlencoded', "'application/x-www-form-urlencoded'"],
    [undefined, 'no content type'],
  ])('of type %s is refused', async (type, received) => {
    expect(await trigger('{}', { headers: type ? { 'content-type': type } : {} })).toMatchObject({
      status: 415,
      json: {
        code: 'unsupported_media_type',
        detail: `the body has ${received}: send JSON, with content-type application/json`,
      },
    });
  });

  it('in base64 is decoded', async () => {
    const body = Buffer.from('{"input":{"name":"Zoë 😀"}}').toString('base64');
    expect(await trigger(body, { isBase64Encoded: true })).toMatchObject({ status: 202 });
    expect(await storedInput()).toEqual({ name: 'Zoë 😀' });
  });

  it.each([
    ['{"input":', 'the body is not JSON: '],
    ['{input:1}', 'the body is not JSON: '],
    ['{}{}', 'the body is not JSON: '],
    ['\u0000', 'the body is not JSON: '],
  ])('that is not JSON is refused: %j', async (body, detail) => {
    const reply = await trigger(body);
    expect(reply).toMatchObject({ status: 400, json: { code: 'invalid_json' } });
    expect(reply.json.detail).toContain(detail);
  });

  it('that is not UTF-8 is refused', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64');
    expect(await trigger(body, { isBase64Encoded: true })).toMatchObject({
      status: 400,
      json: { code: 'invalid_json', detail: 'the body is not JSON: it is not UTF-8' },
    });
  });

  it.each([
    ['[]', 'a list'],
    ['null', 'null'],
    ['"text"', '"text"'],
    ['7', '7'],
  ])('that is no object is refused: %s', async (body, received) => {
    expect(await trigger(body)).toMatchObject({
      status: 400,
      json: { code: 'invalid_request', detail: `the body must be a JSON object, got ${received}` },
    });
  });

  it('of more than 2 MiB is refused with its size', async () => {
    const body = JSON.stringify({ input: 'x'.repeat(2 * 1024 * 1024) });
    expect(await trigger(body)).toMatchObject({
      status: 413,
      json: { code: 'body_too_large', detail: `the body has ${body.length} bytes: at most 2097152 are allowed` },
    });
  });

  it.each(['__proto__', 'constructor', 'toString'])('with the unknown field %s is refused by that name', async (name) => {
    expect(await trigger(`{"${name}":{"delaySeconds":5}}`)).toMatchObject({
      status: 400,
      json: { detail: `the body has fields that are unknown here: '${name}'; allowed are input, delaySeconds` },
    });
  });

  it('does not let a command be told by its query', async () => {
    expect(await trigger('{}', { query: { delaySeconds: '5' } })).toMatchObject({
      status: 400,
      json: { detail: "query parameter 'delaySeconds' is unknown: allowed are none here" },
    });
  });
});

describe('an input', () => {
  it('of exactly 1 MiB is taken, one byte more is not', async () => {
    const most = 'x'.repeat(1024 * 1024 - 2);
    expect(await trigger(JSON.stringify({ input: most }))).toMatchObject({ status: 202 });
    const reply = await trigger(JSON.stringify({ input: `${most}x` }));
    expect(reply).toMatchObject({ status: 400, json: { code: 'invalid_input' } });
    expect(reply.json.detail).toContain('it is 1048577 bytes of JSON, at most 1048576 are allowed');
  });

  it('of 200 levels is taken', async () => {
    expect(await trigger(`{"input":${nested(200)}}`)).toMatchObject({ status: 202 });
  });

  it.each([201, 10_000, 500_000])('of %i levels is refused', async (depth) => {
    expect(await trigger(`{"input":${nested(depth)}}`)).toMatchObject({
      status: 400,
      json: { code: 'invalid_input', detail: 'the input cannot be stored: it is nested more than 200 levels deep: make it flatter' },
    });
  });

  it('a number that is nested half a million levels deep is refused without writing it out', async () => {
    expect(await trigger(`{"delaySeconds":${nested(500_000)}}`)).toMatchObject({
      status: 400,
      json: { detail: 'delaySeconds must be a number, got a list' },
    });
  });

  it.each(['{"__proto__":1}', '{"a":[{"b":1,"__pr\\u006fto__":{"isAdmin":true}}]}'])(
    'with a key __proto__ is refused: %s',
    async (input) => {
      expect(await trigger(`{"input":${input}}`)).toMatchObject({
        status: 400,
        json: { code: 'invalid_input', detail: "the input contains the key '__proto__', which is not allowed: rename it" },
      });
    },
  );

  it('that only mentions __proto__ is taken as it is', async () => {
    const input = { text: '{"__proto__":1}', list: ['__proto__'], 'x"__proto__': '\\' };
    expect(await trigger(JSON.stringify({ input }))).toMatchObject({ status: 202 });
    expect(await storedInput()).toEqual(input);
  });

  it.each(['"a\\u0000b"', '{"\\u0000":1}', '"\\ud800"'])('that Postgres cannot hold is refused: %s', async (input) => {
    expect(await trigger(`{"input":${input}}`)).toMatchObject({ status: 400, json: { code: 'invalid_input' } });
  });

  it.each(['null', 'false', '0', '""', '[]'])('may be %s', async (input) => {
    expect(await trigger(`{"input":${input}}`)).toMatchObject({ status: 202 });
    expect(await storedInput()).toEqual(JSON.parse(input));
  });
});
