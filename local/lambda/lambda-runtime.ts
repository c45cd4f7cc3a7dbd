import { FunctionProcess, type ProcessHost } from './function-process.ts';
import type { FunctionSettings } from './function-settings.ts';
import { startRuntimeApi } from './runtime-api.ts';

export interface LambdaRuntimeOptions {
  /** Where the functions' AWS clients send everything. */
  awsEndpointUrl: string;
  region: string;
  onLog: ProcessHost['onLog'];
  /**
   * Told of every process; the place to write down its pid. A promise returned for a start keeps the process from being frozen until it is
   * kept. It must not be broken: a pid that cannot be written down would be lost with us, so the rejection is left to end us.
   */
  onProcess?: ProcessHost['onProcess'];
  /** How long a process may take to load its handler; Lambda allows ten seconds. */
  initTimeoutSeconds?: number;
}

/** The processes of all functions and the Runtime API that they call. */
export interface LambdaRuntime {
  startProcess(settings: FunctionSettings): FunctionProcess;
  /** Ends every process, then the server: nothing is left when it resolves. */
  close(): Promise<void>;
}

export async function startLambdaRuntime(options: LambdaRuntimeOptions): Promise<LambdaRuntime> {
  const api = await startRuntimeApi();
  const host: ProcessHost = { onProcess: () => undefined, initTimeoutSeconds: 10, ...options, api };
  const processes = new Set<FunctionProcess>();
  let isClosed = false;
  return {
    startProcess(settings) {
      if (isClosed) throw new Error(`the lambda runtime is closed and starts no process of ${settings.name}`);
      const process = new FunctionProcess(settings, host);
      processes.add(process);
      void process.ended.then(() => processes.delete(process));
      return process;
    },
    async close() {
      isClosed = true;
      await Promise.all([...processes].map((process) => process.end()));
      await api.close();
    },
  };
}
