import { type ResolveSecret, replaceDynamicReferences } from './dynamic-reference.ts';
import { evaluateCondition, intrinsics, NO_VALUE, type Scope } from './intrinsics.ts';
import { describePhysicalId, isListedType, type PhysicalId } from './physical-ids.ts';
import { isRecord, type Template, TemplateError, UnknownAttributeError } from './template.ts';

export interface ResolverSettings {
  template: Template;
  stackName: string;
  account?: string;
  region: string;
  /** The one address of the emulated services; queue URLs begin with it. */
  awsEndpointUrl: string;
  /** Where the HTTP API listens: the `ApiEndpoint` of APIs. Without it that attribute is refused. */
  httpApiUrl?: string;
  parameters?: Record<string, string>;
  /** Without it, dynamic references to secrets are refused. */
  resolveSecret?: ResolveSecret;
}

/** Answers what CloudFormation would have filled in when it deployed the template. */
export interface Resolver {
  /** Resolves any value of the template; `place` names it in error messages. A value that is `AWS::NoValue` becomes undefined. */
  resolve(value: unknown, place?: string): unknown;
  resolveResource(logicalId: string): { type: string; properties: Record<string, unknown> };
  ref(logicalId: string): unknown;
  attribute(logicalId: string, name: string): unknown;
  /** Whether the template has the resource and its condition, if any, holds. */
  exists(logicalId: string): boolean;
}

/** Everything is computed when asked for, never ahead: a resource that cannot run locally only matters if something that runs refers to it. */
export function createResolver(settings: ResolverSettings): Resolver {
  const { template, stackName, account = '000000000000', region } = settings;
  const pseudoParameters: Record<string, unknown> = {
    'AWS::AccountId': account,
    'AWS::Region': region,
    'AWS::Partition': 'aws',
    'AWS::StackName': stackName,
    'AWS::StackId': `arn:aws:cloudformation:${region}:${account}:stack/${stackName}/local`,
    'AWS::URLSuffix': 'amazonaws.com',
    'AWS::NotificationARNs': [],
    'AWS::NoValue': NO_VALUE,
  };
  /** The references being followed right now, outermost first. */
  const following: string[] = [];

  function follow<T>(what: string, place: string, answer: () => T): T {
    const start = following.indexOf(what);
    if (start >= 0) throw new TemplateError(`${place} closes a circle of references: ${[...following.slice(start), what].join(' → ')}`);
    following.push(what);
    try {
      return answer();
    } finally {
      following.pop();
    }
  }

  function evaluate(value: unknown, place: string): unknown {
    if (Array.isArray(value)) return value.map((item, index) => evaluate(item, `${place}.${index}`)).filter((item) => item !== NO_VALUE);
    if (!isRecord(value)) return value;
    const keys = Object.keys(value);
    const name = keys.find((key) => key.startsWith('Fn::')) ?? (keys.length === 1 && keys[0] === 'Ref' ? 'Ref' : undefined);
    if (name !== undefined) {
      if (keys.length > 1) throw new TemplateError(`${place} mixes ${name} with other keys (${keys.join(', ')}): it must stand alone`);
      if (!Object.hasOwn(intrinsics, name)) throw new TemplateError(`${place} uses ${name}, which is not known here: use another function`);
      return intrinsics[name]!(value[name], place, scope);
    }
    const entries = keys.map((key) => [key, evaluate(value[key], `${place}.${key}`)] as const);
    return Object.fromEntries(entries.filter(([, item]) => item !== NO_VALUE));
  }

  function text(value: unknown, place: string): string {
    const result = evaluate(value, place);
    if (typeof result === 'string' || typeof result === 'number' || typeof result === 'boolean') return String(result);
    throw new TemplateError(`${place} needs a text, but found ${result === NO_VALUE ? 'AWS::NoValue' : JSON.stringify(result)}`);
  }

  function condition(name: string, place: string): boolean {
    const definition = own(template.Conditions, name);
    if (definition === undefined) throw new TemplateError(`${place} names the condition '${name}', which the template does not define`);
    return follow(`condition ${name}`, place, () => evaluateCondition(definition, `condition ${name}`, scope));
  }

  function existingResource(logicalId: string, place: string) {
    const resource = own(template.Resources, logicalId);
    if (resource === undefined) {
      throw new TemplateError(`${place} refers to '${logicalId}', which is no resource, parameter or pseudo parameter of the template`);
    }
    if (resource.Condition !== undefined && !condition(resource.Condition, logicalId)) {
      throw new TemplateError(
        `${place} refers to '${logicalId}', which does not exist because its condition '${resource.Condition}' is false`,
      );
    }
    return resource;
  }

  function identify(logicalId: string, place: string): { type: string; id: PhysicalId } {
    const { Type: type, Properties: properties = {} } = existingResource(logicalId, place);
    const property = (name: string) => {
      const value = evaluate(own(properties, name), `${logicalId}.${name}`);
      return value === undefined || value === NO_VALUE ? undefined : text(value, `${logicalId}.${name}`);
    };
    const { awsEndpointUrl, httpApiUrl } = settings;
    const view = { logicalId, stackName, account, region, awsEndpointUrl, httpApiUrl, property };
    return { type, id: follow(logicalId, place, () => describePhysicalId(type, view)) };
  }

  function parameter(name: string, place: string): unknown {
    const { Type: type, Default: fallback } = template.Parameters![name]!;
    const given = own(settings.parameters, name);
    if (given === undefined && (fallback === undefined || type.startsWith('AWS::SSM::Parameter::'))) {
      throw new TemplateError(`${place} refers to the parameter '${name}' (${type}), which has no local value: pass one`);
    }
    const value = String(given ?? fallback);
    return type.includes('List') ? value.split(',').map((item) => item.trim()) : value;
  }

  function ref(name: string, place: string): unknown {
    if (Object.hasOwn(pseudoParameters, name)) return pseudoParameters[name];
    if (own(template.Parameters, name) !== undefined) return parameter(name, place);
    return identify(name, place).id.ref;
  }

  function attribute(logicalId: string, name: string, place: string): unknown {
    const { type, id } = identify(logicalId, place);
    const value = own(id.attributes, name);
    if (value !== undefined) return value;
    const known = Object.keys(id.attributes).join(', ') || 'none';
    throw new UnknownAttributeError(
      isListedType(type)
        ? `${place} asks for attribute '${name}' of '${logicalId}' (${type}), which is not known locally: known are ${known}`
        : `${place} asks for attribute '${name}' of '${logicalId}', but resources of type ${type} are not emulated locally`,
    );
  }

  const scope: Scope = { template, region, evaluate, text, ref, attribute, condition };
  const finish = (value: unknown, place: string) =>
    value === NO_VALUE ? undefined : replaceDynamicReferences(value, place, settings.resolveSecret);

  return {
    resolve: (value, place = 'the value') => finish(evaluate(value, place), place),
    resolveResource: (logicalId) => {
      const { Type: type, Properties: properties = {} } = existingResource(logicalId, 'the local cloud');
      return { type, properties: finish(evaluate(properties, logicalId), logicalId) as Record<string, unknown> };
    },
    ref: (logicalId) => finish(ref(logicalId, 'the local cloud'), logicalId),
    attribute: (logicalId, name) => finish(attribute(logicalId, name, 'the local cloud'), logicalId),
    exists: (logicalId) => {
      const resource = own(template.Resources, logicalId);
      return resource !== undefined && (resource.Condition === undefined || condition(resource.Condition, logicalId));
    },
  };
}

/** A property of its own: a template may well speak of a resource called `constructor`. */
function own<T>(record: Record<string, T> | undefined, key: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;
}
