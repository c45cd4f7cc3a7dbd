import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Grant, type IGrantable, type IPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Code, EventSourceMapping, Function as LambdaFunction, RecursiveLoop, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { WaybillDatabase } from './database.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface ProcessProps {
  /** The directory of the bundle, whose `index.mjs` exports `handler`. */
  readonly bundleDirectory: string;
  readonly description: string;
  readonly database: WaybillDatabase;
  readonly logLevel: LogLevel;
  readonly timeoutSeconds: number;
  readonly memoryMegabytes?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface AnswerOptions {
  readonly batchSize: number;
  readonly concurrency: number;
}

/**
 * One function with a role and a log group of its own. The role starts with two permissions, to write that log and to read the database's
 * address; everything else is added action by action, so that the template says what each process can do.
 */
export class Process extends Construct implements IGrantable {
  readonly function: LambdaFunction;
  readonly grantPrincipal: IPrincipal;

  constructor(scope: Construct, id: string, props: ProcessProps) {
    super(scope, id);
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    const logGroup = new LogGroup(this, 'Log', { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY });
    this.grantPrincipal = role;
    Grant.addToPrincipal({ grantee: role, actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resourceArns: [logGroup.logGroupArn] });
    props.database.grantConnect(role);

    this.function = new LambdaFunction(this, 'Function', {
      description: props.description,
      code: Code.fromAsset(props.bundleDirectory),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: props.memoryMegabytes ?? 512,
      timeout: Duration.seconds(props.timeoutSeconds),
      // Bells go round by design: a run's end brings about the next run, a wake the next wake, a continuation the next one. Lambda would take that for a mistake
      // and stop after sixteen rounds.
      recursiveLoop: RecursiveLoop.ALLOW,
      role,
      logGroup,
      environment: {
        NODE_OPTIONS: '--enable-source-maps',
        ...props.environment,
        WAYBILL_DATABASE_SECRET_ID: props.database.secretId,
        WAYBILL_LOG_LEVEL: props.logLevel,
      },
    });
  }

  /** Lets the process ring bells. `IQueue.grantSendMessages` would add two actions that no process uses. */
  grantRing(...queues: readonly IQueue[]): void {
    Grant.addToPrincipal({ grantee: this, actions: ['sqs:SendMessage'], resourceArns: queues.map((queue) => queue.queueArn) });
  }

  /**
   * Invokes the function for messages of the queue. The limit on concurrency belongs to the event source: unlike a reserved concurrency it
   * takes nothing from an account that may have ten in all, and what exceeds it waits in the queue instead of being throttled.
   */
  answer(queue: IQueue, { batchSize, concurrency }: AnswerOptions): void {
    const actions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
    Grant.addToPrincipal({ grantee: this, actions, resourceArns: [queue.queueArn] });
    new EventSourceMapping(this, 'Bell', {
      target: this.function,
      eventSourceArn: queue.queueArn,
      batchSize,
      maxConcurrency: concurrency,
      reportBatchItemFailures: true,
    });
  }

  /** For a function that is invoked by the clock: an invocation that failed or had to wait is dropped, the next one does its work. */
  answerOnlyFresh(): void {
    this.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
  }
}
