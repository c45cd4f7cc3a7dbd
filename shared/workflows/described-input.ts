import type { StandardSchemaV1 } from '@standard-schema/spec';

/** As much of JSON Schema as the inputs of the built-in workflows need. */
export interface InputSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  /** For forms; of a pattern or a choice it says what is allowed. */
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, InputSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | InputSchema;
  readonly items?: InputSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly anyOf?: readonly InputSchema[];
}

type Issue = StandardSchemaV1.Issue & { path: readonly PropertyKey[] };

/** What a schema cannot say, asked only about an input that it takes. */
export type FindMistakes<Input> = (input: Input) => { path: PropertyKey[]; message: string }[];

/**
 * A validator that is its own JSON Schema, so that a form shows exactly the rules by which an input is judged. It parses nothing: a workflow gets what was given.
 * Every mistake is told together, with its place, what was received and what is allowed.
 */
export function describedInput<Input>(schema: InputSchema, findMistakes: FindMistakes<Input> = () => []): StandardSchemaV1<Input> {
  return {
    '~standard': {
      version: 1,
      vendor: 'waybill',
      validate(value) {
        const issues = findIssues(schema, value, []);
        const all = issues.length ? issues : findMistakes(value as Input);
        return all.length ? { issues: all } : { value: value as Input };
      },
    },
  };
}

function findIssues(schema: InputSchema, value: unknown, path: readonly PropertyKey[]): Issue[] {
  const refuse = (allowed: string): Issue[] => [{ path, message: `must be ${allowed}, got ${describe(value)}` }];
  if (schema.anyOf) {
    if (schema.anyOf.some((one) => findIssues(one, value, path).length === 0)) return [];
    // Without what it says: where a reference belongs, text may be the secret itself.
    return [{ path, message: `must be ${schema.description}, got ${typeof value === 'string' ? 'text' : describe(value)}` }];
  }
  switch (schema.type) {
    case 'string':
      return isText(schema, value) ? [] : refuse(describeText(schema));
    case 'integer':
      return Number.isInteger(value) && isBetween(value as number, schema.minimum, schema.maximum)
        ? []
        : refuse(`a whole number from ${schema.minimum} to ${schema.maximum}`);
    case 'boolean':
      return typeof value === 'boolean' ? [] : refuse('true or false');
    case 'array':
      if (!Array.isArray(value) || !isBetween(value.length, schema.minItems, schema.maxItems))
        return refuse(`a list of ${schema.minItems ?? 0} to ${schema.maxItems} items`);
      return value.flatMap((item, index) => findIssues(schema.items ?? {}, item, [...path, index]));
    case 'object':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('an object');
      return findFieldIssues(schema, value as Record<string, unknown>, path);
    default:
      return [];
  }
}

function findFieldIssues(schema: InputSchema, value: Record<string, unknown>, path: readonly PropertyKey[]): Issue[] {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  const missing = required.filter((name) => value[name] === undefined);
  const given = Object.entries(value).filter(([, part]) => part !== undefined);
  return [
    ...missing.map((name) => ({ path: [...path, name], message: 'is missing' })),
    ...given.flatMap(([name, part]) => {
      const place = [...path, name];
      if (Object.hasOwn(properties, name)) return findIssues(properties[name]!, part, place);
      if (typeof additionalProperties === 'object') return findIssues(additionalProperties, part, place);
      return additionalProperties
        ? []
        : [{ path: place, message: `is unknown here; allowed are ${Object.keys(properties).join(', ') || 'none'}` }];
    }),
  ];
}

function isText({ minLength = 0, maxLength, pattern, enum: allowed }: InputSchema, value: unknown): boolean {
  if (typeof value !== 'string' || !isBetween(value.length, minLength, maxLength)) return false;
  if (allowed) return allowed.includes(value);
  return pattern === undefined || new RegExp(pattern, 'u').test(value);
}

function describeText({ minLength = 0, maxLength, enum: allowed, pattern, description = 'text' }: InputSchema): string {
  if (pattern !== undefined) return description;
  if (allowed) return `one of ${allowed.join(', ')}`;
  return maxLength === undefined ? 'text' : `text of ${minLength} to ${maxLength} characters`;
}

function isBetween(value: number, least = 0, most = Number.POSITIVE_INFINITY): boolean {
  return value >= least && value <= most;
}

/** Never what is nested, nor a long text. */
function describe(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > 60 ? `text of ${value.length} characters` : JSON.stringify(value);
}
