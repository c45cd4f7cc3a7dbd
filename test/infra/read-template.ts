/** Reads a synthesized template by what its parts are called in the construct tree, so that assertions do not depend on generated ids. */
export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: templates are untyped documents, and each test knows the part that it reads.
  Properties: any;
  DependsOn?: string[];
  Metadata?: Record<string, string>;
}

export type Resources = Record<string, Resource>;

/** `Test/Jobs/Manager/Function/Resource` → `Manager/Function`. */
export function shortName(resources: Resources, logicalId: string): string {
  const path = resources[logicalId]?.Metadata?.['aws:cdk:path'] ?? logicalId;
  return path.replace(/^[^/]+\/Jobs\//, '').replace(/(\/(Resource|Default))+$/, '');
}

export function findByType(resources: Resources, type: string): { id: string; name: string; properties: Resource['Properties'] }[] {
  const found = Object.entries(resources).filter(([, resource]) => resource.Type === type);
  return found.map(([id, resource]) => ({ id, name: shortName(resources, id), properties: resource.Properties }));
}

/** Every resource that must be ready before this one, by its short name. */
export function prerequisitesOf(resources: Resources, name: string): Set<string> {
  const start = Object.keys(resources).find((id) => shortName(resources, id) === name);
  if (start === undefined) throw new Error(`the template has no resource '${name}'`);
  const seen = new Set<string>();
  const visit = (id: string) => {
    if (seen.has(id) || !resources[id]) return;
    seen.add(id);
    for (const next of [...(resources[id].DependsOn ?? []), ...referencesIn(resources[id].Properties)]) visit(next);
  };
  visit(start);
  return new Set([...seen].map((id) => shortName(resources, id)));
}

/** What each role may do, as sentences: `sqs:SendMessage on Wake/Queue`. */
export function permissionsByRole(resources: Resources): Record<string, string[]> {
  const roles = Object.fromEntries(
    findByType(resources, 'AWS::IAM::Role').map(({ id, properties }) => [id, statementsOf(properties.Policies ?? [])]),
  );
  for (const { properties } of findByType(resources, 'AWS::IAM::Policy')) {
    for (const role of properties.Roles) roles[role.Ref]?.push(...properties.PolicyDocument.Statement);
  }
  return Object.fromEntries(
    Object.entries(roles).map(([id, statements]) => [
      shortName(resources, id),
      statements.flatMap((statement) => describe(resources, statement)).sort(),
    ]),
  );
}

interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
}

function statementsOf(policies: { PolicyDocument: { Statement: Statement[] } }[]): Statement[] {
  return policies.flatMap((policy) => policy.PolicyDocument.Statement);
}

function describe(resources: Resources, { Effect, Action, Resource }: Statement): string[] {
  const prefix = Effect === 'Allow' ? '' : `${Effect} `;
  return [Action]
    .flat()
    .flatMap((action) => [Resource].flat().map((resource) => `${prefix}${action} on ${describeArn(resources, resource)}`));
}

function describeArn(resources: Resources, arn: unknown): string {
  const [referenced] = referencesIn(arn).filter((id) => resources[id]);
  if (referenced) return shortName(resources, referenced);
  const parts = (arn as { 'Fn::Join': [string, unknown[]] })['Fn::Join']?.[1];
  return parts ? parts.map((part) => (typeof part === 'string' ? part : '…')).join('') : JSON.stringify(arn);
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (value === null || typeof value !== 'object') return [];
  const { Ref: reference, 'Fn::GetAtt': attribute } = value as { Ref?: string; 'Fn::GetAtt'?: [string, string] };
  if (reference) return [reference];
  if (attribute) return [attribute[0]];
  return Object.values(value).flatMap(referencesIn);
}
