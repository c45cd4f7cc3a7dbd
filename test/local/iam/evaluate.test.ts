import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluate, type Statement } from '../../../local/iam/evaluate.ts';
import { matchWildcard } from '../../../local/iam/match-wildcard.ts';

const queue = 'arn:aws:sqs:us-east-1:000000000000:jobs';
const send = { action: 'sqs:SendMessage', resource: queue };
const allow = (rest: Partial<Statement>): Statement => ({ Effect: 'Allow', Action: '*', Resource: '*', ...rest });
const deny = (rest: Partial<Statement>): Statement => ({ Effect: 'Deny', Action: '*', Resource: '*', ...rest });

describe('a request', () => {
  it.each<[string, Statement[], string]>([
    ['nothing is said', [], 'implicit'],
    ['action and resource match', [allow({ Action: 'sqs:SendMessage', Resource: queue })], 'allowed'],
    ['one of several actions matches', [allow({ Action: ['sqs:DeleteMessage', 'sqs:SendMessage'] })], 'allowed'],
    ['the action matches but for its case', [allow({ Action: 'SQS:sendmessage' })], 'allowed'],
    ['the action matches a wildcard', [allow({ Action: 'sqs:Send*' })], 'allowed'],
    ['the action is only a prefix', [allow({ Action: 'sqs:Send' })], 'implicit'],
    ['the resource is another', [allow({ Resource: `${queue}-2` })], 'implicit'],
    ['the resource matches but for its case', [allow({ Resource: queue.toUpperCase() })], 'implicit'],
    ['the resource matches a wildcard across separators', [allow({ Resource: 'arn:aws:*jobs' })], 'allowed'],
    ['the resource matches question marks', [allow({ Resource: queue.replace('jobs', '????') })], 'allowed'],
    ['there are too few question marks', [allow({ Resource: queue.replace('jobs', '???') })], 'implicit'],
    ['another action is excluded', [{ Effect: 'Allow', NotAction: 'sqs:Delete*', Resource: '*' }], 'allowed'],
    ['the action is excluded', [{ Effect: 'Allow', NotAction: ['sqs:Send*'], Resource: '*' }], 'implicit'],
    ['another resource is excluded', [{ Effect: 'Allow', Action: '*', NotResource: ['*:other'] }], 'allowed'],
    ['the resource is excluded', [{ Effect: 'Allow', Action: '*', NotResource: queue }], 'implicit'],
    ['a deny matches, before or after', [allow({}), deny({ Action: 'sqs:*' }), allow({})], 'explicit'],
    ['a deny does not match', [allow({}), deny({ Action: 's3:*' })], 'allowed'],
    ['a deny spares this resource', [allow({}), { Effect: 'Deny', Action: '*', NotResource: queue }], 'allowed'],
  ])('when %s', (_, statements, expected) => {
    const decision = evaluate(statements, send);
    expect(decision.decision === 'allowed' ? 'allowed' : decision.reason).toBe(expected);
  });

  it('that is explicitly denied names the statement', () => {
    const statement = deny({ Sid: 'Never' });
    expect(evaluate([allow({}), statement], send)).toEqual({ decision: 'denied', reason: 'explicit', statement });
  });
});

const pattern = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/', '*', '?', '.'), maxLength: 8 });
const text = fc.string({ unit: fc.constantFrom('a', 'b', ':', '/', '.'), maxLength: 10 });
const request = fc.record({ action: text, resource: text });
const statement: fc.Arbitrary<Statement> = fc.record({
  Effect: fc.constantFrom('Allow' as const, 'Deny' as const),
  Action: fc.oneof(pattern, fc.array(pattern, { maxLength: 3 })),
  Resource: fc.oneof(pattern, fc.array(pattern, { maxLength: 3 })),
});

describe('for any policy', () => {
  it('a matching deny wins, wherever it stands', () => {
    fc.assert(
      fc.property(fc.array(statement), fc.array(statement), request, (before, after, asked) => {
        const decision = evaluate([...before, deny({ Action: asked.action, Resource: asked.resource }), ...after], asked);
        expect(decision).toMatchObject({ decision: 'denied', reason: 'explicit' });
      }),
    );
  });

  it('what no statement allows by name or wildcard is never allowed', () => {
    fc.assert(
      fc.property(fc.array(statement), request, (statements, asked) => {
        const withoutAction = statements.filter(({ Action }) => ![Action ?? []].flat().some((item) => oracle(item, asked.action)));
        expect(evaluate(withoutAction, asked)).toEqual({ decision: 'denied', reason: 'implicit' });
      }),
    );
  });

  it('the order of statements does not change the decision', () => {
    fc.assert(
      fc.property(fc.array(statement), request, (statements, asked) => {
        expect(evaluate([...statements].reverse(), asked).decision).toBe(evaluate(statements, asked).decision);
      }),
    );
  });

  it('a wildcard matches exactly what the definition says', () => {
    fc.assert(
      fc.property(pattern, text, (wildcard, subject) => {
        expect(matchWildcard(wildcard, subject)).toBe(oracle(wildcard, subject));
      }),
      { numRuns: 5000 },
    );
  });
});

it('a hostile pattern is decided at once', () => {
  expect(matchWildcard(`${'*a'.repeat(200)}b`, 'a'.repeat(5000))).toBe(false);
});

/** The definition, by recursion. */
function oracle(wildcard: string, subject: string): boolean {
  if (wildcard === '') return subject === '';
  if (wildcard[0] === '*') return oracle(wildcard.slice(1), subject) || (subject !== '' && oracle(wildcard, subject.slice(1)));
  return subject !== '' && (wildcard[0] === '?' || wildcard[0] === subject[0]) && oracle(wildcard.slice(1), subject.slice(1));
}
