import { matchWildcard } from './match-wildcard.ts';

/** One statement of an identity policy, without conditions: those are decided when roles are collected. */
export interface Statement {
  Sid?: string;
  Effect: 'Allow' | 'Deny';
  Action?: string | string[];
  NotAction?: string | string[];
  Resource?: string | string[];
  NotResource?: string | string[];
}

export interface Request {
  /** `sqs:SendMessage` */
  action: string;
  /** The ARN acted upon, or `*` for actions that have none. */
  resource: string;
}

export type Decision =
  | { decision: 'allowed' }
  /** Explicit: a statement forbids it. Implicit: none allows it. */
  | { decision: 'denied'; reason: 'explicit' | 'implicit'; statement?: Statement };

/** Decides as IAM does for identity policies: a matching Deny wins over every Allow, and what nothing allows is denied. */
export function evaluate(statements: readonly Statement[], request: Request): Decision {
  let isAllowed = false;
  for (const statement of statements) {
    if (!appliesTo(statement, request)) continue;
    if (statement.Effect === 'Deny') return { decision: 'denied', reason: 'explicit', statement };
    isAllowed = true;
  }
  return isAllowed ? { decision: 'allowed' } : { decision: 'denied', reason: 'implicit' };
}

function appliesTo(statement: Statement, { action, resource }: Request): boolean {
  const { Action, NotAction, Resource, NotResource } = statement;
  return matchesAction(Action, NotAction, action) && matchesResource(Resource, NotResource, resource);
}

/** Action names are compared without regard to case, resources with it. */
function matchesAction(included: string | string[] | undefined, excluded: string | string[] | undefined, action: string): boolean {
  const matches = (pattern: string) => matchWildcard(pattern.toLowerCase(), action.toLowerCase());
  return included === undefined ? excluded !== undefined && !patterns(excluded).some(matches) : patterns(included).some(matches);
}

function matchesResource(included: string | string[] | undefined, excluded: string | string[] | undefined, resource: string): boolean {
  const matches = (pattern: string) => matchWildcard(pattern, resource);
  return included === undefined ? excluded !== undefined && !patterns(excluded).some(matches) : patterns(included).some(matches);
}

function patterns(value: string | string[]): string[] {
  return typeof value === 'string' ? [value] : value;
}
