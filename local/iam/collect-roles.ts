import type { Resolver } from '../template/resolver.ts';
import { isRecord, type Template, UnknownAttributeError } from '../template/template.ts';
import { constantConditions } from './conditions.ts';
import type { Statement } from './evaluate.ts';
import { knownManagedPolicies, managedPolicyStatements } from './managed-policies.ts';
import { parseStatement } from './parse-statement.ts';

/** A role of the template with all that its policies say. */
export interface Role {
  logicalId: string;
  statements: Statement[];
  /** The statements that say who may take the role on, resolved and not yet judged: only a use of the role shows which of them matter. */
  trust: unknown[];
  /** Sentences about what AWS would take into account and the local cloud does not. */
  unchecked: string[];
}

/** Where a resource lists the roles that its policy document is attached to. */
const attachments: Record<string, string> = {
  'AWS::IAM::Policy': 'Roles',
  'AWS::IAM::ManagedPolicy': 'Roles',
  'AWS::IAM::RolePolicy': 'RoleName',
};

/**
 * The roles of a template, by ARN, each with the statements of its inline, attached and managed policies. `isNeeded` leaves out roles that nothing
 * local will use, whose policies may then contain what is not understood here.
 */
export function collectRoles(
  template: Template,
  resolver: Resolver,
  isNeeded: (logicalId: string) => boolean = () => true,
): Map<string, Role> {
  const context = constantConditions(String(resolver.resolve({ Ref: 'AWS::AccountId' })));
  const existing = Object.entries(template.Resources).filter(([logicalId]) => resolver.exists(logicalId));
  const roles = new Map<string, Role>();
  const rolesByName = new Map<unknown, Role>();

  for (const [logicalId, { Type: type, Properties: properties = {} }] of existing) {
    if (type !== 'AWS::IAM::Role' || !isNeeded(logicalId)) continue;
    const role: Role = { logicalId, statements: [], trust: readTrust(properties, logicalId), unchecked: [] };
    roles.set(String(resolver.attribute(logicalId, 'Arn')), role);
    rolesByName.set(resolver.ref(logicalId), role);
    for (const item of listOf(properties.Policies, `${logicalId}.Policies`)) {
      const policy = unwrap(item, `${logicalId}.Policies`);
      if (isRecord(policy)) addDocument(role, policy.PolicyDocument, `${logicalId}.Policies`);
    }
    for (const policyArn of [resolver.resolve(properties.ManagedPolicyArns ?? [], `${logicalId}.ManagedPolicyArns`)].flat()) {
      addManagedPolicy(role, String(policyArn));
    }
    if (properties.PermissionsBoundary !== undefined) {
      role.unchecked.push(
        `the permissions boundary of role '${logicalId}' is not applied locally: AWS may refuse more than the local cloud does`,
      );
    }
  }

  for (const [logicalId, { Type: type, Properties: properties = {} }] of existing) {
    const property = Object.hasOwn(attachments, type) ? attachments[type]! : undefined;
    if (property === undefined) continue;
    for (const name of [resolver.resolve(properties[property] ?? [], `${logicalId}.${property}`)].flat()) {
      const role = rolesByName.get(name);
      if (role !== undefined) addDocument(role, properties.PolicyDocument, `${logicalId}.PolicyDocument`);
    }
  }
  return roles;

  function readTrust(properties: Record<string, unknown>, logicalId: string): unknown[] {
    const document = resolver.resolve(properties.AssumeRolePolicyDocument, `${logicalId}.AssumeRolePolicyDocument`);
    return isRecord(document) ? [document.Statement ?? []].flat() : [];
  }

  function addManagedPolicy(role: Role, policyArn: string): void {
    const own = existing.find(([id, { Type: type }]) => type === 'AWS::IAM::ManagedPolicy' && resolver.ref(id) === policyArn);
    if (own !== undefined) {
      addDocument(role, own[1].Properties?.PolicyDocument, `${own[0]}.PolicyDocument`);
      return;
    }
    const known = managedPolicyStatements(policyArn);
    if (known === undefined) {
      throw new Error(
        `role '${role.logicalId}' has the managed policy '${policyArn}', whose contents are not known locally: ` +
          `known are ${knownManagedPolicies.join(', ')}; state what it allows in a policy of the stack instead`,
      );
    }
    role.statements.push(...known);
  }

  function addDocument(role: Role, value: unknown, place: string): void {
    const document = unwrap(value, place);
    if (!isRecord(document)) return;
    for (const statement of listOf(document.Statement, `${place}.Statement`)) addStatement(role, statement, `${place}.Statement`);
  }

  /** The one or many items of a list, themselves unresolved: one that cannot be resolved must not take the others with it. */
  function listOf(value: unknown, place: string): unknown[] {
    return [unwrap(value, place) ?? []].flat();
  }

  /** Policies, documents and statements may be chosen by Fn::If; what is written out is left as it is. */
  function unwrap(value: unknown, place: string): unknown {
    return isRecord(value) && Object.keys(value).some((key) => key.startsWith('Fn::')) ? resolver.resolve(value, place) : value;
  }

  /**
   * An Allow on a resource that is not emulated (a database's generated id, say) cannot be resolved and is left out: its service is not here to be
   * called either. A Deny is never left out.
   */
  function addStatement(role: Role, raw: unknown, place: string): void {
    let resolved: unknown;
    try {
      resolved = resolver.resolve(raw, place);
    } catch (error) {
      if (!(error instanceof UnknownAttributeError) || !isRecord(raw) || raw.Effect !== 'Allow' || raw.Resource === undefined) throw error;
      if (Array.isArray(raw.Resource)) for (const resource of raw.Resource) addStatement(role, { ...raw, Resource: resource }, place);
      else role.unchecked.push(`a permission is left out: ${error.message}`);
      return;
    }
    const statement = resolved === undefined ? undefined : parseStatement(resolved, `role '${role.logicalId}' (${place})`, context);
    if (statement !== undefined) role.statements.push(statement);
  }
}
