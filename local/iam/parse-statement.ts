import { isRecord } from '../template/template.ts';
import { type ConditionContext, conditionsHold } from './conditions.ts';
import type { Statement } from './evaluate.ts';

/**
 * Checks one resolved statement of an identity policy. Undefined if its condition, a constant here, is false: then it never applies. What would be
 * misunderstood is refused now, at start, and not when a job first runs into it.
 */
export function parseStatement(value: unknown, owner: string, context: ConditionContext): Statement | undefined {
  if (!isRecord(value)) throw new Error(`${owner} has the statement ${JSON.stringify(value)}: it must be an object`);
  const { Sid: sid, Effect: effect, Condition: condition, ...rest } = value;
  const subject = `${owner}, statement ${describeStatement(value)},`;
  if (effect !== 'Allow' && effect !== 'Deny') throw new Error(`${subject} has the effect ${JSON.stringify(effect)}: use Allow or Deny`);
  const statement: Statement = { ...(typeof sid === 'string' ? { Sid: sid } : {}), Effect: effect };
  for (const [key, patterns] of Object.entries(rest)) {
    if (key !== 'Action' && key !== 'NotAction' && key !== 'Resource' && key !== 'NotResource') {
      throw new Error(`${subject} has '${key}': an identity policy takes Action, NotAction, Resource, NotResource and Condition`);
    }
    statement[key] = readPatterns(patterns, key, subject);
  }
  requireOne(statement, 'Action', 'NotAction', subject);
  requireOne(statement, 'Resource', 'NotResource', subject);
  return conditionsHold(condition, context, subject) ? statement : undefined;
}

/** How a statement is named to people: by its Sid, else by what it is about. */
export function describeStatement({ Sid, Action, NotAction }: Record<string, unknown>): string {
  return typeof Sid === 'string' ? `'${Sid}'` : `on ${[Action ?? NotAction].flat().join(', ')}`;
}

function readPatterns(value: unknown, key: string, subject: string): string[] {
  const patterns = [value].flat();
  for (const pattern of patterns) {
    if (typeof pattern !== 'string') throw new Error(`${subject} has ${key} ${JSON.stringify(pattern)}: it must be text`);
    // Left alone, a variable would be compared as literal text: an Allow would shrink, and a Deny would vanish.
    if (pattern.includes('${')) throw new Error(`${subject} uses the policy variable in '${pattern}': variables are not known locally`);
  }
  return patterns as string[];
}

function requireOne(statement: Statement, key: 'Action' | 'Resource', opposite: 'NotAction' | 'NotResource', subject: string): void {
  if ((statement[key] === undefined) === (statement[opposite] === undefined)) {
    throw new Error(`${subject} must have either ${key} or ${opposite}`);
  }
}
