import { randomUUID } from 'node:crypto';
import { failed, payloadLimitBytes, requestTooLarge } from './describe-failure.ts';
import type { FunctionProcess } from './function-process.ts';
import type { FunctionSettings } from './function-settings.ts';
import type { InvocationResult } from './invocation.ts';
import type { LambdaRuntime } from './lambda-runtime.ts';

/** One function: as many processes as invocations run at once, up to its limit, kept warm for the next ones. */
export class LambdaFunction {
  readonly #runtime: LambdaRuntime;
  readonly #processes = new Set<FunctionProcess>();
  #settings: FunctionSettings;
  /** The last to become idle is the first to be used again: the warmest, and the others can rest. */
  #idle: FunctionProcess[] = [];
  #runningCount = 0;
  #isStopped = false;

  constructor(settings: FunctionSettings, runtime: LambdaRuntime) {
    this.#settings = settings;
    this.#runtime = runtime;
  }

  /** Runs the handler with the event and tells what became of it; failures of the function are results, not rejections. */
  async invoke(event: unknown): Promise<InvocationResult> {
    const text = JSON.stringify(event) ?? 'null';
    const sizeBytes = Buffer.byteLength(text);
    if (sizeBytes > payloadLimitBytes) return requestTooLarge(sizeBytes);
    if (this.#runningCount >= this.#settings.maxConcurrency) return { status: 'throttled' };
    this.#runningCount += 1;
    try {
      const process = this.#takeIdle() ?? this.#startProcess();
      const result = await process.invoke(randomUUID(), text);
      this.#giveBack(process);
      return result;
    } catch (error) {
      return failed('Runtime.StartError', error instanceof Error ? error.message : String(error));
    } finally {
      this.#runningCount -= 1;
    }
  }

  /** Takes new code or settings, as a deployment does: invocations that run finish on the old ones, all others start on the new. */
  async update(settings: FunctionSettings): Promise<void> {
    this.#settings = settings;
    await Promise.all(this.#idle.splice(0).map((process) => process.end()));
  }

  /** Ends every process of the function; invocations that run fail, and no further one is taken. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#idle = [];
    await Promise.all([...this.#processes].map((process) => process.end()));
  }

  #takeIdle(): FunctionProcess | undefined {
    for (;;) {
      const process = this.#idle.pop();
      // One that somebody killed while it was idle is passed over.
      if (process === undefined || process.isIdle) return process;
    }
  }

  #startProcess(): FunctionProcess {
    if (this.#isStopped) throw new Error(`function ${this.#settings.name} is stopped and takes no further invocation`);
    const process = this.#runtime.startProcess(this.#settings);
    this.#processes.add(process);
    void process.ended.then(() => this.#processes.delete(process));
    return process;
  }

  /** The settings themselves tell whether a process is of today: `update` replaces the object. */
  #giveBack(process: FunctionProcess): void {
    if (process.isIdle && process.settings === this.#settings && !this.#isStopped) this.#idle.push(process);
    else void process.end();
  }
}
