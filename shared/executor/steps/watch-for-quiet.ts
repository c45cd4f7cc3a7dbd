import { LONGEST_MS } from '../longest-timer.ts';

/** How a run leaves its function without having ended: to go on at once in another invocation, or not before an instant. */
export type Suspension = { kind: 'continue' } | { kind: 'sleep'; resumeAt: Date };

/** The body of a workflow, or of a nested one, as far as it can be told what it waits for. */
export interface Scope {
  /** A call of the body is being answered. */
  enter(): void;
  leave(): void;
  /** The call that was entered will not be answered in this invocation. */
  hold(): Promise<never>;
  /** The call that was entered is answered when its time has come, if that is still in this invocation. */
  rest(resumeAt: Date, remainingMs: number): Promise<void>;
  /** The call that was entered runs another body, until that one is closed. */
  open(): Scope;
  close(): void;
  readonly isClosed: boolean;
}

export interface Quiet {
  root: Scope;
  /** Resolves when nothing can go on in this invocation; never, if the workflow ends before. */
  reached: Promise<Suspension>;
  /** The run has ended or is suspended: from here on no call is answered. */
  readonly isOver: boolean;
  end(): void;
}

/** What is not answered in this invocation: whoever awaits it stays where it is. */
export const never = () => new Promise<never>(() => {});

/**
 * Finds out when a run can be suspended: every body in it waits for something that this invocation will not give, and no step is in progress. A body that has asked for nothing of
 * the kind is busy with code of its own. What a body does beside a call that is held cannot be seen; it is left behind, and done anew by the next invocation.
 */
export function watchForQuiet(): Quiet {
  const { promise: reached, resolve } = Promise.withResolvers<Suspension>();
  const bodies = new Set<{ answering: number; held: number; nested: number; resting: Set<Date> }>();
  let isOver = false;
  let isLooking = false;

  /** Not at once: what has just been answered may ask for something else, which it does before the next turn of the event loop. */
  function lookSoon(): void {
    if (isLooking) return;
    isLooking = true;
    setImmediate(() => {
      isLooking = false;
      if (isOver || ![...bodies].every((body) => body.answering === 0 && body.held + body.resting.size + body.nested > 0)) return;
      const instants = [...bodies].flatMap(({ resting }) => [...resting].map((at) => at.getTime()));
      const isHeld = [...bodies].some(({ held }) => held > 0);
      isOver = true;
      resolve(isHeld ? { kind: 'continue' } : { kind: 'sleep', resumeAt: new Date(Math.min(...instants)) });
    });
  }

  function openBody(above?: { answering: number; nested: number }): Scope {
    const body = { answering: 0, held: 0, nested: 0, resting: new Set<Date>() };
    bodies.add(body);
    const leave = () => {
      body.answering--;
      lookSoon();
    };
    return {
      enter() {
        body.answering++;
      },
      leave,
      hold() {
        body.held++;
        leave();
        return never();
      },
      rest(resumeAt, remainingMs) {
        body.resting.add(resumeAt);
        leave();
        return new Promise((wake) => {
          const timer = setTimeout(
            () => {
              if (isOver) return;
              body.resting.delete(resumeAt);
              body.answering++;
              wake();
            },
            Math.min(remainingMs, LONGEST_MS),
          );
          // A run that is suspended meanwhile must not keep its process awake.
          timer.unref();
        });
      },
      open() {
        body.answering--;
        body.nested++;
        return openBody(body);
      },
      close() {
        bodies.delete(body);
        if (above) {
          above.nested--;
          above.answering++;
        }
      },
      get isClosed() {
        return !bodies.has(body);
      },
    };
  }

  return {
    root: openBody(),
    reached,
    get isOver() {
      return isOver;
    },
    end() {
      isOver = true;
    },
  };
}
