/** One named step: takes what the step before returned, and the context that all share. */
export type Step<Context, In, Out> = (input: In, context: Context) => Out | Promise<Out>;

export interface StepReport {
  chain: string;
  step: string;
  durationMs: number;
}

/** Runs the steps in order. `onStep` hears each step's name and time: its log, its metric, and its crash point. */
export type Chain<Context, In, Out> = (input: In, context: Context, onStep?: (report: StepReport) => void) => Promise<Out>;

/**
 * Joins named functions into one, so that a process reads as the list of what it does. The compiler checks that each
 * step takes what the one before returns.
 */
export function chain<C, A, B>(name: string, s1: Step<C, A, B>): Chain<C, A, B>;
export function chain<C, A, B, D>(name: string, s1: Step<C, A, B>, s2: Step<C, B, D>): Chain<C, A, D>;
export function chain<C, A, B, D, E>(name: string, s1: Step<C, A, B>, s2: Step<C, B, D>, s3: Step<C, D, E>): Chain<C, A, E>;
export function chain<C, A, B, D, E, F>(
  name: string,
  s1: Step<C, A, B>,
  s2: Step<C, B, D>,
  s3: Step<C, D, E>,
  s4: Step<C, E, F>,
): Chain<C, A, F>;
export function chain<C, A, B, D, E, F, G>(
  name: string,
  s1: Step<C, A, B>,
  s2: Step<C, B, D>,
  s3: Step<C, D, E>,
  s4: Step<C, E, F>,
  s5: Step<C, F, G>,
): Chain<C, A, G>;
export function chain<C, A, B, D, E, F, G, H>(
  name: string,
  s1: Step<C, A, B>,
  s2: Step<C, B, D>,
  s3: Step<C, D, E>,
  s4: Step<C, E, F>,
  s5: Step<C, F, G>,
  s6: Step<C, G, H>,
): Chain<C, A, H>;
export function chain<Context>(name: string, ...steps: Step<Context, never, unknown>[]): Chain<Context, unknown, unknown> {
  return async (input, context, onStep) => {
    let value = input;
    for (const step of steps) {
      const startedAt = performance.now();
      value = await step(value as never, context);
      onStep?.({ chain: name, step: step.name, durationMs: performance.now() - startedAt });
    }
    return value;
  };
}
