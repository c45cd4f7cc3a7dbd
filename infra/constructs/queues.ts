import { Duration } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface BellQueueProps {
  /** The timeout of the function that answers the bell. */
  readonly readerTimeoutSeconds: number;
}

/**
 * A queue of doorbells and the queue for those that nobody could answer.
 *
 * A message says "look", the database says at what. So a lost or late one is rung again from the tables within minutes, which is why the
 * visibility timeout only outlasts one invocation, where a queue that held the work itself would need six times that.
 */
export class BellQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;

  constructor(scope: Construct, id: string, { readerTimeoutSeconds }: BellQueueProps) {
    super(scope, id);
    this.deadLetterQueue = createDeadLetterQueue(this, 'DeadLetters');
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      visibilityTimeout: Duration.seconds(readerTimeoutSeconds + 60),
      retentionPeriod: Duration.days(1),
      // A receive is spent without fault when a function is throttled, replaced by a deployment, or hands a message back to run another alone.
      // Five outlast that; a bell that fails five times is a defect to be seen, and its work is rung anew regardless.
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount: 5 },
    });
  }
}

/** The end of an asynchronous hop: kept as long as SQS keeps anything, for a person to look at. */
export function createDeadLetterQueue(scope: Construct, id: string): Queue {
  return new Queue(scope, id, { encryption: QueueEncryption.SQS_MANAGED, enforceSSL: true, retentionPeriod: Duration.days(14) });
}
