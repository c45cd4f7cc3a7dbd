/** The reason an AbortSignal carries: it becomes the recorded failure. */
export class RunAborted extends Error {
  readonly code: 'timeout' | 'cancelled' | 'deadline' | 'lease_lost' | 'step_too_long';
  constructor(code: RunAborted['code'], message: string) {
    super(message);
    this.name = 'RunAborted';
    this.code = code;
  }
}

export function isAbortedBy({ aborted, reason }: AbortSignal, ...codes: RunAborted['code'][]): boolean {
  return aborted && reason instanceof RunAborted && codes.includes(reason.code);
}

export const reasons = {
  timeout: (seconds: number) => new RunAborted('timeout', `the run took longer than its timeout of ${seconds} s`),
  cancelled: () => new RunAborted('cancelled', 'the run was cancelled'),
  deadline: () => new RunAborted('deadline', "the function was about to reach its own timeout: raise the pool's timeout or split the work"),
  leaseLost: () =>
    new RunAborted('lease_lost', 'the lease was lost: the run was ended by somebody else, or its renewal failed for too long'),
  stepTooLong: (step: string | undefined) =>
    new RunAborted(
      'step_too_long',
      step === undefined
        ? "no step ended within one invocation, because what comes before the next one took too long: do it in a step of its own, or raise the pool's timeout"
        : `step '${step}' did not end within one invocation: do less in it, or raise the pool's timeout`,
    ),
};
