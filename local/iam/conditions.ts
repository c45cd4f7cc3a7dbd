import { isRecord } from '../template/template.ts';

/** What the keys of a Condition block are compared with, by lower-cased name: IAM does not tell the case of keys apart. */
export type ConditionContext = Record<string, Partial<Record<string, string>>>;

/** The keys that have one and the same value in every request of the local cloud. Requests count as encrypted: they are, once deployed. */
export function constantConditions(account: string): ConditionContext {
  return {
    StringEquals: { 'aws:sourceaccount': account, 'aws:resourceaccount': account },
    Bool: { 'aws:securetransport': 'true' },
  };
}

/**
 * Whether every comparison of a Condition block holds. One that the context does not list is refused, not guessed: a condition taken for true would
 * allow on the laptop what fails in production, and one taken for false would hide a Deny.
 */
export function conditionsHold(conditions: unknown, context: ConditionContext, subject: string): boolean {
  if (conditions === undefined) return true;
  if (!isRecord(conditions)) throw new Error(`${subject} has the condition ${JSON.stringify(conditions)}: it must be an object`);
  let allHold = true;
  for (const [operator, comparisons] of Object.entries(conditions)) {
    if (!isRecord(comparisons)) throw new Error(`${subject} has the condition ${operator}, which must be an object of keys and values`);
    for (const [key, allowed] of Object.entries(comparisons)) {
      const known = context[operator];
      if (known === undefined || !Object.hasOwn(known, key.toLowerCase())) {
        const supported = Object.entries(context).map(([name, keys]) => `${name} on ${Object.keys(keys).join(', ')}`);
        throw new Error(
          `${subject} has the condition ${operator} on ${key}, which the local cloud cannot decide: it knows ${supported.join('; ')}. ` +
            'narrow the statement by action and resource instead',
        );
      }
      const actual = known[key.toLowerCase()];
      allHold &&= actual !== undefined && [allowed].flat().some((value) => String(value) === actual);
    }
  }
  return allHold;
}
