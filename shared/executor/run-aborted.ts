/** The reason an AbortSignal carries: it becomes the recorded failure. */
export class RunAborted extends Error {
  readonly code: 'timeout' | 'cancelled' | 'deadline' | 'lease_lost';
  constructor(code: RunAborted['code'], message: string) {
    super(message);
    this.name = 'RunAborted';
    this.code = code;
  }
}

export const reasons = {
  timeout: (seconds: number) => new RunAborted('timeout', `the run took longer than its timeout of ${seconds} s`),
  cancelled: () => new RunAborted('cancelled', 'the run was cancelled'),
  deadline: () => new RunAborted('deadline', "the function was about to reach its own timeout: raise the pool's timeout or split the work"),
  leaseLost: () =>
    new RunAborted('lease_lost', 'the lease was lost: the run was ended by somebody else, or its renewal failed for too long'),
};
