import type { StandardSchemaV1 } from '@standard-schema/spec';
import { messageOf } from '../errors.ts';
import { toStorableJson } from '../model/json.ts';
import { show } from '../model/show.ts';
import type { AnyWorkflow } from '../model/workflow.ts';

/** What one input may weigh: the same as one that is given at run time. */
const MAX_INPUT_BYTES = 1024 * 1024;

/** Checks that an input can be stored, comes back from its row as it was given, and is what the workflow takes then. */
export async function findInputMistakes(workflow: AnyWorkflow, input: unknown): Promise<string[]> {
  const stored = toStorableJson(input, MAX_INPUT_BYTES);
  if ('problem' in stored) return [`its input cannot be stored: ${stored.problem}`];
  // In a JSON text this sequence is always a key: inside a string its quotes would be escaped.
  if (/[{,]"__proto__":/.test(stored.text)) return ["its input cannot be stored: it contains the key '__proto__'; rename it"];
  const lost = findLost(input, []);
  if (lost) {
    const place = lost.path.length ? ` at '${lost.path.join('.')}'` : '';
    return [
      `its input is not JSON${place}: ${lost.what} would not come back as it is; give text, finite numbers, booleans, lists and objects`,
    ];
  }
  try {
    const { issues = [] } = await workflow.input['~standard'].validate(JSON.parse(stored.text));
    return issues.map(describeIssue);
  } catch (error) {
    return [`its input could not be validated: ${messageOf(error)}`];
  }
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const place = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
  return `its input is invalid${place ? ` at '${place}'` : ''}: ${message}`;
}

/** What JSON writes down as something else in silence: `NaN` as null, a Map as an empty object, a function not at all. */
function findLost(value: unknown, path: string[]): { path: string[]; what: string } | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return { path, what: `a ${typeof value}` };
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { path, what: show(value) };
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return undefined;
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (!['Object', 'Array', 'Number', 'String', 'Boolean'].includes(kind)) return { path, what: `a ${kind}` };
  for (const [key, part] of Object.entries(value)) {
    if (part === undefined && Array.isArray(value)) return { path: [...path, key], what: 'undefined in a list' };
    const lost = findLost(part, [...path, key]);
    if (lost) return lost;
  }
  return undefined;
}
