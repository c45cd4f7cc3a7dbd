import { isDeepStrictEqual } from 'node:util';
import { isRecord, type Template, TemplateError } from './template.ts';

/** Stands for `AWS::NoValue` while a value is being resolved: the property, or the list item, that holds it disappears. */
export const NO_VALUE = Symbol('AWS::NoValue');

/** What the intrinsic functions need of the resolver that calls them. `place` is the spot in the template, for messages. */
export interface Scope {
  template: Template;
  region: string;
  evaluate(value: unknown, place: string): unknown;
  text(value: unknown, place: string): string;
  ref(name: string, place: string): unknown;
  attribute(logicalId: string, name: string, place: string): unknown;
  condition(name: string, place: string): boolean;
}

type Intrinsic = (argument: unknown, place: string, scope: Scope) => unknown;

const fail = (place: string, complaint: string): never => {
  throw new TemplateError(`${place} ${complaint}`);
};

/** The arguments as a list of a given length; they are not resolved yet, because Fn::If must not look at the branch it does not take. */
function listOf(argument: unknown, place: string, name: string, minimum: number, maximum = minimum): unknown[] {
  if (Array.isArray(argument) && argument.length >= minimum && argument.length <= maximum) return argument;
  const count = minimum === maximum ? `${minimum}` : `${minimum} to ${maximum}`;
  return fail(place, `uses ${name} with ${JSON.stringify(argument)}: it takes a list of ${count} values`);
}

function resolvedList(value: unknown, place: string, name: string, scope: Scope): unknown[] {
  const list = scope.evaluate(value, place);
  return Array.isArray(list) ? list : fail(place, `uses ${name} with ${JSON.stringify(list)}: a list is needed`);
}

/** A truth value: another condition by name, or anything that resolves to true or false. */
export function evaluateCondition(value: unknown, place: string, scope: Scope): boolean {
  if (isRecord(value) && typeof value.Condition === 'string' && Object.keys(value).length === 1) {
    return scope.condition(value.Condition, place);
  }
  const result = scope.evaluate(value, place);
  return typeof result === 'boolean' ? result : fail(place, `needs a condition, but found ${JSON.stringify(result)}`);
}

const getAttribute: Intrinsic = (argument, place, scope) => {
  if (typeof argument === 'string') {
    const dot = argument.indexOf('.');
    if (dot < 1) return fail(place, `uses Fn::GetAtt with '${argument}': write 'LogicalId.Attribute'`);
    return scope.attribute(argument.slice(0, dot), argument.slice(dot + 1), place);
  }
  const [logicalId, name] = listOf(argument, place, 'Fn::GetAtt', 2);
  return scope.attribute(scope.text(logicalId, place), scope.text(name, place), place);
};

const substitute: Intrinsic = (argument, place, scope) => {
  const [pattern, variables] = typeof argument === 'string' ? [argument, {}] : listOf(argument, place, 'Fn::Sub', 2);
  if (typeof pattern !== 'string' || !isRecord(variables)) return fail(place, 'uses Fn::Sub wrongly: it takes a text, or a text and a map');
  return pattern.replace(/\$\{([^}]*)\}/g, (_, name: string) => {
    if (name.startsWith('!')) return `\${${name.slice(1)}}`;
    if (Object.hasOwn(variables, name)) return scope.text(variables[name], place);
    return scope.text(name.includes('.') ? { 'Fn::GetAtt': name } : { Ref: name }, place);
  });
};

const select: Intrinsic = (argument, place, scope) => {
  const [position, values] = listOf(argument, place, 'Fn::Select', 2);
  const index = Number(scope.text(position, place));
  const list = resolvedList(values, place, 'Fn::Select', scope);
  if (Number.isInteger(index) && index >= 0 && index < list.length) return list[index];
  return fail(place, `selects item ${index} of a list of ${list.length}: it takes 0 to ${list.length - 1}`);
};

const findInMap: Intrinsic = (argument, place, scope) => {
  const [map, first, second] = listOf(argument, place, 'Fn::FindInMap', 3).map((key) => scope.text(key, place)) as [string, string, string];
  const value = scope.template.Mappings?.[map]?.[first]?.[second];
  return value === undefined ? fail(place, `looks up ${map}.${first}.${second}, which the template's Mappings do not contain`) : value;
};

const equals: Intrinsic = (argument, place, scope) => {
  const [left, right] = listOf(argument, place, 'Fn::Equals', 2).map((side) => scope.evaluate(side, place));
  // Parameters are always text, while a literal next to them may be a number or a boolean.
  return typeof left === 'object' ? isDeepStrictEqual(left, right) : String(left) === String(right);
};

const refuse =
  (complaint: string): Intrinsic =>
  (argument, place) =>
    fail(place, `${complaint} (received ${JSON.stringify(argument)})`);

export const intrinsics: Record<string, Intrinsic> = {
  Ref: (argument, place, scope) => scope.ref(scope.text(argument, place), place),
  'Fn::GetAtt': getAttribute,
  'Fn::Join': (argument, place, scope) => {
    const [delimiter, values] = listOf(argument, place, 'Fn::Join', 2);
    const list = resolvedList(values, place, 'Fn::Join', scope);
    return list.map((value) => scope.text(value, place)).join(scope.text(delimiter, place));
  },
  'Fn::Sub': substitute,
  'Fn::Select': select,
  'Fn::Split': (argument, place, scope) => {
    const [delimiter, text] = listOf(argument, place, 'Fn::Split', 2).map((part) => scope.text(part, place)) as [string, string];
    return text.split(delimiter);
  },
  'Fn::If': (argument, place, scope) => {
    const [condition, whenTrue, whenFalse] = listOf(argument, place, 'Fn::If', 3);
    return scope.evaluate(scope.condition(scope.text(condition, place), place) ? whenTrue : whenFalse, place);
  },
  'Fn::Equals': equals,
  'Fn::And': (argument, place, scope) => listOf(argument, place, 'Fn::And', 2, 10).every((item) => evaluateCondition(item, place, scope)),
  'Fn::Or': (argument, place, scope) => listOf(argument, place, 'Fn::Or', 2, 10).some((item) => evaluateCondition(item, place, scope)),
  'Fn::Not': (argument, place, scope) => !evaluateCondition(listOf(argument, place, 'Fn::Not', 1)[0], place, scope),
  'Fn::FindInMap': findInMap,
  'Fn::Base64': (argument, place, scope) => Buffer.from(scope.text(argument, place)).toString('base64'),
  'Fn::GetAZs': (argument, place, scope) => ['a', 'b', 'c'].map((zone) => `${scope.text(argument, place) || scope.region}${zone}`),
  'Fn::ImportValue': refuse('uses Fn::ImportValue, but the exports of other stacks do not exist locally: pass the value as a parameter'),
  'Fn::Cidr': refuse('uses Fn::Cidr, but there are no networks locally: leave this resource out of what runs here'),
};
