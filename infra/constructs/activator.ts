import { Duration, Validations } from 'aws-cdk-lib';
import { Grant, type IGrantable } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { Process, type ProcessProps } from './process.ts';
import { createDeadLetterQueue } from './queues.ts';

export interface ActivatorProps extends Pick<ProcessProps, 'bundleDirectory' | 'database' | 'logLevel'> {
  readonly dispatchQueue: IQueue;
}

/**
 * The way in for other functions: with the capability of a running parent they activate its dormant dependents. It has no address but its name, so that only those whom
 * {@link grantActivate} names can invoke it. Whoever does so without waiting is retried twice, and what still fails is kept for a person.
 */
export class Activator extends Process {
  constructor(scope: Construct, id: string, { dispatchQueue, ...props }: ActivatorProps) {
    super(scope, id, {
      ...props,
      description: 'activates dormant dependents for other functions, in the name of a running parent',
      timeoutSeconds: 60,
      environment: { WAYBILL_DISPATCH_QUEUE_URL: dispatchQueue.queueUrl },
    });
    const unanswered = createDeadLetterQueue(this, 'Unanswered');
    Validations.of(unanswered).acknowledge({
      id: 'AwsSolutions::AwsSolutions-SQS3',
      reason:
        'It is a dead-letter queue, of asynchronous invocations: the rule knows only those that another queue names in its redrive policy.',
    });
    this.grantRing(dispatchQueue, unanswered);
    this.function.configureAsyncInvoke({
      retryAttempts: 2,
      // As long as an executor may run: by then the parent has ended, or has been handed to another lease.
      maxEventAge: Duration.minutes(15),
      // The destination of the CDK would grant two actions more.
      onFailure: { bind: () => ({ destination: unanswered.queueArn }) },
    });
  }

  /** Lets a function invoke this one and no version of it; `grantInvoke` would allow those too. */
  grantActivate(grantee: IGrantable): void {
    Grant.addToPrincipal({ grantee, actions: ['lambda:InvokeFunction'], resourceArns: [this.function.functionArn] });
  }
}
