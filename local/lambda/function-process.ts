import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { buildEnvironment } from './build-environment.ts';
import * as failure from './describe-failure.ts';
import type { FunctionSettings } from './function-settings.ts';
import type { InvocationResult } from './invocation.ts';
import { readLines } from './read-lines.ts';
import type { HandOver, PostedBody, RuntimeApi, RuntimeClient } from './runtime-api.ts';
import { signalGroup, spawnFunction } from './spawn-function.ts';

export interface LogLine {
  functionName: string;
  processId: number;
  /** Absent for what is written while the process starts, or between invocations. */
  requestId?: string;
  stream: 'stdout' | 'stderr';
  text: string;
}

/** What the processes of all functions share. */
export interface ProcessHost {
  api: RuntimeApi;
  awsEndpointUrl: string;
  region: string;
  initTimeoutSeconds: number;
  onLog: (line: LogLine) => void;
  onProcess: (change: { pid: number; event: 'started' | 'ended' }) => void | Promise<void>;
}

interface Invocation {
  requestId: string;
  event: string;
  outcome: InvocationResult | undefined;
  resolve: (result: InvocationResult) => void;
}

/**
 * One process of a function, from its start to its end: one invocation at a time, frozen whenever it has none.
 *
 * An invocation is over when the process asks for its next event, not when it answers: by then all it wrote has been read (it flushes its
 * output before it answers, and the answer and the question are two round trips), and the caller who now invokes again finds it free.
 *
 * If the supervisor is killed, a process that is not frozen sees its connection close and ends. A frozen one cannot; it is found by its pid
 * at the next start, and is therefore never frozen before `onProcess` has had the time to write that pid down.
 */
export class FunctionProcess implements RuntimeClient {
  readonly settings: FunctionSettings;
  readonly ended: Promise<void>;
  readonly #host: ProcessHost;
  readonly #address: string;
  readonly #child: ChildProcess;
  readonly #flushLines: (() => void)[];
  #initStderr: string[] | undefined = [];
  #invocation: Invocation | undefined;
  /** The invocation that the process holds now. */
  #requestId: string | undefined;
  /** Present while the process waits for an event. */
  #answerNext: ((handOver: HandOver) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #mayFreeze = false;
  /** A process that was killed may still be heard for a moment: what it had sent before is waiting to be read. */
  #isKilled = false;

  constructor(settings: FunctionSettings, host: ProcessHost) {
    this.settings = settings;
    this.#host = host;
    this.#address = host.api.register(this);
    this.#child = spawnFunction(settings, buildEnvironment(settings, { ...host, runtimeApi: this.#address }));
    this.#flushLines = this.#child.pid === undefined ? [] : [this.#readLog('stdout'), this.#readLog('stderr')];
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(this.#onEnd(signal ? `signal: ${signal}` : `exit status ${code}`)));
      this.#child.once('error', (error) => {
        this.#conclude(failure.failed('Runtime.StartError', this.#describeStartError(error)));
        // Out of file descriptors there are no pipes either, and nothing that could ever close.
        resolve(this.#onEnd('an error at its start'));
      });
    });
    this.#limitTime(host.initTimeoutSeconds, () =>
      failure.initTimedOut(settings.handler, host.initTimeoutSeconds, (this.#initStderr ?? []).join('\n')),
    );
    if (this.#child.pid !== undefined) void this.#announceStart(this.#child.pid);
  }

  /** Waits for its next event, and can be given one. */
  get isIdle(): boolean {
    return this.#answerNext !== undefined && !this.#isKilled && !this.#hasExited;
  }

  /** Hands the event to the process, as soon as it has started. Never rejects; to be called once the last invocation is over. */
  invoke(requestId: string, event: string): Promise<InvocationResult> {
    return new Promise((resolve) => {
      this.#invocation = { requestId, event, outcome: undefined, resolve };
      if (this.#answerNext) this.#handOver(this.#invocation, this.#answerNext);
    });
  }

  /** Kills the process, whatever it is doing; an invocation in hand fails. */
  async end(): Promise<void> {
    this.#kill();
    await this.ended;
  }

  onNext(answer: (handOver: HandOver) => void): void {
    if (this.#isKilled) return;
    clearTimeout(this.#timer);
    this.#initStderr = undefined;
    if (this.#invocation && this.#requestId === undefined) {
      this.#handOver(this.#invocation, answer);
      return;
    }
    this.#answerNext = answer;
    this.#freeze();
    this.#settle(failure.failed('Runtime.NoResponse', 'the process asked for its next event without answering this one'));
  }

  onResponse(requestId: string, { text, sizeBytes }: PostedBody): void {
    if (requestId !== this.#requestId) return;
    this.#conclude(text === undefined ? failure.responseTooLarge(sizeBytes) : failure.returnedPayload(text));
  }

  onError(requestId: string, { text, sizeBytes }: PostedBody): void {
    if (requestId !== this.#requestId) return;
    this.#conclude(text === undefined ? failure.responseTooLarge(sizeBytes) : failure.reportedError(text));
  }

  onInitError({ text, sizeBytes }: PostedBody): void {
    this.#conclude(text === undefined ? failure.responseTooLarge(sizeBytes) : failure.reportedError(text));
  }

  /** Awake first, then the event: the time limit counts from here. */
  #handOver({ requestId, event }: Invocation, answer: (handOver: HandOver) => void): void {
    const { arn, timeoutSeconds } = this.settings;
    this.#answerNext = undefined;
    this.#requestId = requestId;
    this.#signal('SIGCONT');
    this.#limitTime(timeoutSeconds, () => failure.timedOut(requestId, timeoutSeconds));
    answer({ requestId, functionArn: arn, deadlineAt: new Date(Date.now() + timeoutSeconds * 1000), traceId: createTraceId(), event });
  }

  /** The first outcome stands: an answer before the timeout, a reported error before the exit that follows it. */
  #conclude(outcome: InvocationResult): void {
    if (this.#invocation) this.#invocation.outcome ??= outcome;
  }

  #settle(outcomeIfNone: InvocationResult): void {
    for (const flush of this.#flushLines) flush();
    const invocation = this.#invocation;
    this.#invocation = undefined;
    this.#requestId = undefined;
    invocation?.resolve(invocation.outcome ?? outcomeIfNone);
  }

  #limitTime(seconds: number, describe: () => InvocationResult): void {
    this.#timer = setTimeout(() => {
      this.#conclude(describe());
      this.#kill();
    }, seconds * 1000);
  }

  #onEnd(reason: string): void {
    clearTimeout(this.#timer);
    this.#host.api.unregister(this.#address);
    if (this.#child.pid !== undefined) void this.#host.onProcess({ pid: this.#child.pid, event: 'ended' });
    const outcome = this.#initStderr
      ? failure.exitedInInit(this.settings.handler, reason, this.#initStderr.join('\n'))
      : failure.exitedInInvocation(this.#requestId ?? '', reason);
    this.#settle(outcome);
  }

  async #announceStart(pid: number): Promise<void> {
    await this.#host.onProcess({ pid, event: 'started' });
    this.#mayFreeze = true;
    this.#freeze();
  }

  #freeze(): void {
    if (this.#mayFreeze && this.isIdle) this.#signal('SIGSTOP');
  }

  #kill(): void {
    this.#isKilled = true;
    this.#signal('SIGKILL');
  }

  /** The pid is ours until the exit has been seen; after that it may be anybody's. */
  #signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) signalGroup(this.#child.pid, signal);
  }

  get #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #readLog(stream: 'stdout' | 'stderr'): () => void {
    return readLines(this.#child[stream]!, (text) => {
      if (stream === 'stderr') this.#initStderr = this.#initStderr && [...this.#initStderr, text].slice(-20);
      const requestId = this.#requestId === undefined ? {} : { requestId: this.#requestId };
      this.#host.onLog({ functionName: this.settings.name, processId: this.#child.pid!, ...requestId, stream, text });
    });
  }

  #describeStartError(error: Error): string {
    return `cannot start a process of ${this.settings.name} in ${this.settings.codeDirectory}: ${error.message}; check that the bundle is there`;
  }
}

function createTraceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `Root=1-${seconds}-${randomBytes(12).toString('hex')};Parent=${randomBytes(8).toString('hex')};Sampled=0`;
}
