import type { IGrantable, IPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { WaybillDatabase } from './database.ts';
import type { PoolSettings } from './pool-settings.ts';
import { type LogLevel, Process } from './process.ts';
import { BellQueue } from './queues.ts';

export interface ExecutorPoolProps {
  readonly name: string;
  readonly settings: PoolSettings;
  readonly bundleDirectory: string;
  readonly database: WaybillDatabase;
  readonly logLevel: LogLevel;
  readonly wakeQueue: IQueue;
  readonly dispatchQueue: IQueue;
}

/** Executors of one size: a function that runs the user's workflows, its role and its queue. Grant what they need: `bucket.grantRead(jobs.pool('heavy'))`. */
export class ExecutorPool extends Construct implements IGrantable {
  readonly name: string;
  readonly settings: PoolSettings;
  readonly workQueue: IQueue;
  readonly process: Process;
  readonly grantPrincipal: IPrincipal;

  constructor(scope: Construct, id: string, { name, settings, wakeQueue, dispatchQueue, ...props }: ExecutorPoolProps) {
    super(scope, id);
    this.name = name;
    this.settings = settings;
    this.workQueue = new BellQueue(this, 'Work', { readerTimeoutSeconds: settings.timeoutSeconds }).queue;
    this.process = new Process(this, 'Executor', {
      ...props,
      description: `runs the workflows of pool ${name}`,
      timeoutSeconds: settings.timeoutSeconds,
      memoryMegabytes: settings.memoryMegabytes,
      environment: {
        ...settings.environment,
        WAYBILL_POOL: name,
        WAYBILL_WORK_QUEUE_URL: this.workQueue.queueUrl,
        WAYBILL_WAKE_QUEUE_URL: wakeQueue.queueUrl,
        WAYBILL_DISPATCH_QUEUE_URL: dispatchQueue.queueUrl,
      },
    });
    // Its own too: a run that outlasts one invocation goes on in another.
    this.process.grantRing(wakeQueue, dispatchQueue, this.workQueue);
    this.process.answer(this.workQueue, settings);
    this.grantPrincipal = this.process.grantPrincipal;
  }
}
