import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../shared/model/ids.ts';
import { decodeExecutionBell, encodeExecutionBell } from '../../shared/queue/doorbell.ts';

describe('the body of a bell', () => {
  it('names its execution, whichever that is', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (id) => {
        expect(decodeExecutionBell(encodeExecutionBell(id as ExecutionId))).toBe(id);
      }),
      { examples: [[1], [Number.MAX_SAFE_INTEGER]] },
    );
  });

  it.each([
    ['nothing', ''],
    ['no JSON', 'ring'],
    ['JSON that was cut', '{"v":1,"executionId":"7"'],
    ['null', 'null'],
    ['a number', '7'],
    ['a list', '[1,"7"]'],
    ['text', '"7"'],
    ['an empty object', '{}'],
    ['no version', '{"executionId":"7"}'],
    ['an unknown version', '{"v":2,"executionId":"7"}'],
    ['a version of another type', '{"v":"1","executionId":"7"}'],
    ['no execution', '{"v":1}'],
    ['a number as id', '{"v":1,"executionId":7}'],
    ['an object as id', '{"v":1,"executionId":{"toString":"7"}}'],
    ['an empty id', '{"v":1,"executionId":""}'],
    ['zero', '{"v":1,"executionId":"0"}'],
    ['a negative id', '{"v":1,"executionId":"-7"}'],
    ['a fraction', '{"v":1,"executionId":"7.5"}'],
    ['another notation', '{"v":1,"executionId":"7e3"}'],
    ['a line break', '{"v":1,"executionId":"7\\n"}'],
    ['an id that no number holds exactly', '{"v":1,"executionId":"9007199254740993"}'],
    ['a huge id', `{"v":1,"executionId":"${'9'.repeat(100_000)}"}`],
    ['an inherited field', '{"__proto__":{"v":1,"executionId":"7"}}'],
  ])('is refused when it is %s', (_, body) => {
    expect(decodeExecutionBell(body)).toBeUndefined();
  });

  it('never raises, whatever came', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
        expect(decodeExecutionBell(body) ?? 1).toSatisfy(Number.isSafeInteger);
      }),
    );
  });

  it('may say more than this version knows', () => {
    expect(decodeExecutionBell('{"v":1,"executionId":"7","since":"2026"}')).toBe(7);
  });
});
