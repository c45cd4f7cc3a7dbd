import { BundleError } from '../bundle/bundle-error.ts';

export interface PoolOptions {
  /** How many invocations may run at once, 2 to 1000. Default 10. */
  readonly concurrency?: number;
  /** How many executions one invocation takes, 1 to 10; more than one suits light jobs. Default 1. */
  readonly batchSize?: number;
  /** 128 to 10240. Default 512. */
  readonly memoryMegabytes?: number;
  /** The longest a single step may take, 1 to 900. Default 900: what is not used costs nothing, and manifests have timeouts of their own. */
  readonly timeoutSeconds?: number;
  /** Variables for the user's code. Names that begin with `WAYBILL_` are ours. */
  readonly environment?: Readonly<Record<string, string>>;
}

export type PoolSettings = Required<PoolOptions>;

const defaults: PoolSettings = { concurrency: 10, batchSize: 1, memoryMegabytes: 512, timeoutSeconds: 900, environment: {} };

// The limits are Lambda's, and that of an event source's maximum concurrency, which does not go below two.
const allowed = { concurrency: [2, 1000], batchSize: [1, 10], memoryMegabytes: [128, 10240], timeoutSeconds: [1, 900] } as const;

/** The pools to create, always with one called `default`. Every mistake is reported together. */
export function resolvePools(pools: Readonly<Record<string, PoolOptions>> = {}): Record<string, PoolSettings> {
  const problems = Object.entries(pools).flatMap(([name, options]) => findProblems(name, options));
  if (problems.length > 0)
    throw new BundleError(
      'invalid_stack',
      ['the pools of this stack are invalid:', ...problems.map((problem) => `- ${problem}`)].join('\n'),
    );
  return Object.fromEntries(Object.entries({ default: {}, ...pools }).map(([name, options]) => [name, { ...defaults, ...options }]));
}

function findProblems(name: string, options: PoolOptions): string[] {
  const problems: string[] = [];
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(name)) {
    problems.push(`pool name '${name}' is not allowed: use lower-case letters, digits and dashes, a letter first, at most 32`);
  }
  for (const [option, [least, most]] of Object.entries(allowed)) {
    const value = options[option as keyof typeof allowed];
    if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) continue;
    problems.push(`${option} of pool '${name}' is ${value}: it must be a whole number from ${least} to ${most}`);
  }
  for (const variable of Object.keys(options.environment ?? {})) {
    if (variable.startsWith('WAYBILL_'))
      problems.push(`environment of pool '${name}' sets ${variable}: names that begin with WAYBILL_ are reserved, choose another`);
  }
  return problems;
}
