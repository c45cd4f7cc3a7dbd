import { isRecord, type Template, TemplateError } from './template.ts';

/**
 * The order in which CloudFormation would create the resources: each after those it depends on or refers to, otherwise as written. Resources whose
 * condition is false are in it; ask the resolver which exist. A circle is refused here as it would be on deployment, even where lazy resolving
 * could answer it.
 */
export function deploymentOrder(template: Template): string[] {
  const order: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];

  function visit(logicalId: string): void {
    if (done.has(logicalId)) return;
    const start = path.indexOf(logicalId);
    if (start >= 0) throw new TemplateError(`circular dependency between resources: ${[...path.slice(start), logicalId].join(' → ')}`);
    path.push(logicalId);
    for (const dependency of dependenciesOf(template, logicalId)) visit(dependency);
    path.pop();
    done.add(logicalId);
    order.push(logicalId);
  }

  for (const logicalId of Object.keys(template.Resources)) visit(logicalId);
  return order;
}

function dependenciesOf(template: Template, logicalId: string): Set<string> {
  const { DependsOn: stated = [], Properties: properties } = template.Resources[logicalId]!;
  const found = new Set<string>();
  for (const dependency of [stated].flat()) {
    if (!Object.hasOwn(template.Resources, dependency)) {
      throw new TemplateError(`${logicalId}.DependsOn names '${dependency}', which is no resource of the template`);
    }
    found.add(dependency);
  }
  for (const name of referencesIn(properties)) if (Object.hasOwn(template.Resources, name)) found.add(name);
  return found;
}

/** Every name that an intrinsic function inside the value mentions; parameters and pseudo parameters among them. */
function* referencesIn(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* referencesIn(item);
  if (!isRecord(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === 'Ref' && typeof item === 'string') yield item;
    else if (key === 'Fn::GetAtt') yield String(Array.isArray(item) ? item[0] : item).split('.')[0]!;
    else if (key === 'Fn::Sub') yield* namesInSubstitution(item);
    yield* referencesIn(item);
  }
}

function* namesInSubstitution(argument: unknown): Generator<string> {
  const [pattern, variables] = Array.isArray(argument) ? argument : [argument, {}];
  if (typeof pattern !== 'string') return;
  for (const [, name] of pattern.matchAll(/\$\{([^!}][^}]*)\}/g)) {
    if (!isRecord(variables) || !Object.hasOwn(variables, name!)) yield name!.split('.')[0]!;
  }
}
