/** Something that a person should know of, in a sentence. It never ends the part that reports it. */
export interface Problem {
  /** The mapping, schedule or API that met it. */
  source: string;
  message: string;
  error?: unknown;
}

export type OnProblem = (problem: Problem) => void;

export interface ProblemLatch {
  /** Reports a kind of problem the first time only, until it is cleared: a loop that fails every second must not fill the terminal. */
  report(kind: string, message: string, error?: unknown): void;
  clear(kind: string): void;
}

export function latchProblems(source: string, onProblem: OnProblem): ProblemLatch {
  const open = new Set<string>();
  return {
    report(kind, message, error) {
      if (open.has(kind)) return;
      open.add(kind);
      onProblem({ source, message, error });
    },
    clear(kind) {
      open.delete(kind);
    },
  };
}
