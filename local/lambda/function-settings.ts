/** One `AWS::Lambda::Function` of the template with everything in it resolved: what its processes are started with. */
export interface FunctionSettings {
  name: string;
  arn: string;
  /** The unpacked bundle; becomes LAMBDA_TASK_ROOT and the working directory. */
  codeDirectory: string;
  /** `file.export`, for example `index.handler`. */
  handler: string;
  timeoutSeconds: number;
  memoryMegabytes: number;
  environment: Record<string, string>;
  /** How many invocations may run at once, each in a process of its own. */
  maxConcurrency: number;
  /** Signs the function's AWS calls, so that the local endpoint knows whose role to check. */
  accessKeyId: string;
}
