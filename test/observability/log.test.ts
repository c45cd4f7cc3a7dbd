import { afterEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '../../shared/observability/log.ts';

afterEach(() => vi.unstubAllEnvs());

function record(level?: string) {
  if (level !== undefined) vi.stubEnv('WAYBILL_LOG_LEVEL', level);
  const lines: string[] = [];
  return { lines, log: createLogger('manager', (line) => lines.push(line)) };
}

describe('a log line', () => {
  it('is one JSON object that says where it comes from', () => {
    const { lines, log } = record();
    log.info('admitted', { executionId: '7', count: 2 });
    expect(lines).toEqual(['{"level":"info","source":"manager","message":"admitted","executionId":"7","count":2}']);
  });

  it('stays one line, whatever is in it', () => {
    const { lines, log } = record();
    log.info('two\nlines', { text: 'a\r\nb' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toMatch(/[\r\n]/);
  });

  it('tells an error with its name, message, stack and code', () => {
    const { lines, log } = record();
    log.error('failed', { error: Object.assign(new TypeError('no'), { code: 'X1' }) });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      error: { name: 'TypeError', message: 'no', code: 'X1', stack: expect.stringContaining('log.test.ts') },
    });
  });

  it('cannot be made to pass for another level or source by its fields', () => {
    const { lines, log } = record();
    log.info('said', { level: 'error', source: 'api', message: 'forged' });
    expect(JSON.parse(lines[0]!)).toEqual({ level: 'info', source: 'manager', message: 'said' });
  });

  it.each([
    [
      'a cycle',
      () => {
        const cyclic: Record<string, unknown> = {};
        cyclic.self = cyclic;
        return cyclic;
      },
    ],
    ['a big integer', () => 7n],
    [
      'an error that carries a cycle',
      () => {
        const error = new Error('odd') as Error & { code?: unknown };
        error.code = { error };
        return error;
      },
    ],
    [
      'a value that cannot be read',
      () => ({
        toJSON: () => {
          throw new Error('no');
        },
      }),
    ],
  ])('is written even with %s among its fields: logging never fails the work it tells of', (_, value) => {
    const { lines, log } = record();
    log.warn('odd fields', { value: value(), executionId: '7' });
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'warn', message: 'odd fields', executionId: '7' });
  });
});

describe('the level', () => {
  it('is info unless it is set', () => {
    const { lines, log } = record();
    log.debug('not this');
    log.info('this');
    expect(lines).toHaveLength(1);
  });

  it('keeps back what is below it', () => {
    const { lines, log } = record('warn');
    log.info('not this');
    log.warn('this');
    log.error('and this');
    expect(lines).toHaveLength(2);
  });

  it('that nobody knows keeps nothing back', () => {
    const { lines, log } = record('loud');
    log.debug('this');
    expect(lines).toHaveLength(1);
  });
});
