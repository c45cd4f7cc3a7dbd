import { isRecord } from '../template/template.ts';
import type { Role } from './collect-roles.ts';
import { conditionsHold } from './conditions.ts';
import { matchWildcard } from './match-wildcard.ts';

/** On whose behalf a service asks: EventBridge Scheduler, for one, states its account and the schedule group. */
export interface AssumeSource {
  sourceAccount?: string;
  sourceArn?: string;
}

/**
 * Whether a service (`lambda.amazonaws.com`) may take on a role. A condition on what the service did not state does not hold. Only the statements
 * about this service are read, so a trust in somebody else may say what is not understood here.
 */
export function mayAssume(role: Pick<Role, 'logicalId' | 'trust'>, servicePrincipal: string, source: AssumeSource = {}): boolean {
  const context = { StringEquals: { 'aws:sourceaccount': source.sourceAccount, 'aws:sourcearn': source.sourceArn } };
  let isTrusted = false;
  for (const statement of role.trust) {
    if (!isRecord(statement) || !names(statement.Principal, servicePrincipal) || !coversAssumeRole(statement.Action)) continue;
    if (!conditionsHold(statement.Condition, context, `the trust policy of role '${role.logicalId}'`)) continue;
    if (statement.Effect === 'Deny') return false;
    isTrusted ||= statement.Effect === 'Allow';
  }
  return isTrusted;
}

function names(principal: unknown, servicePrincipal: string): boolean {
  return principal === '*' || (isRecord(principal) && [principal.Service].flat().includes(servicePrincipal));
}

function coversAssumeRole(action: unknown): boolean {
  return [action].flat().some((pattern) => typeof pattern === 'string' && matchWildcard(pattern.toLowerCase(), 'sts:assumerole'));
}
