import { NonRetryableError } from '../../errors.ts';
import { toStorableText } from '../../model/json.ts';

const LONGEST_NAME = 200;
const LONGEST_PATH = 500;

/** The name under which a step is recorded: with the names of the nested runs around it. Refuses a name that cannot stand there. */
export function toPath(around: string, name: string): string {
  if (!isAllowed(name))
    throw new NonRetryableError(
      `step name ${describe(name)} is not allowed: use 1 to ${LONGEST_NAME} characters without '/', and not 'activate:' in front, which is for activations`,
    );
  const path = around ? `${around}/${name}` : name;
  if (path.length <= LONGEST_PATH) return path;
  throw new NonRetryableError(
    `step '${path}' is nested too deep: with the names around it, it may have ${LONGEST_PATH} characters and has ${path.length}`,
  );
}

function isAllowed(name: unknown): name is string {
  if (typeof name !== 'string' || name.length < 1 || name.length > LONGEST_NAME) return false;
  return !name.includes('/') && !name.startsWith('activate:') && toStorableText(name, LONGEST_NAME) === name;
}

function describe(name: unknown): string {
  return typeof name === 'string' ? `'${name.slice(0, LONGEST_NAME)}'` : `of type ${typeof name}`;
}
