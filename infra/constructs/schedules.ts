import { Stack, Validations } from 'aws-cdk-lib';
import { Grant, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Process } from './process.ts';
import { createDeadLetterQueue } from './queues.ts';

export interface SchedulesProps {
  readonly manager: Process;
  readonly housekeeping: Process;
}

/** What runs by the clock alone. Each next occurrence makes up for a lost one, so neither the scheduler nor Lambda retries for long. */
export class Schedules extends Construct {
  constructor(scope: Construct, id: string, { manager, housekeeping }: SchedulesProps) {
    super(scope, id);
    const missed = createDeadLetterQueue(this, 'Missed');
    Validations.of(missed).acknowledge({
      id: 'AwsSolutions::AwsSolutions-SQS3',
      reason: 'It is a dead-letter queue, of schedules: the rule knows only those that another queue names in its redrive policy.',
    });
    invokeEvery(this, 'Heartbeat', {
      process: manager,
      rate: '1 minute',
      source: 'heartbeat',
      missed,
      retryCount: 1,
      maximumAgeSeconds: 60,
    });
    invokeEvery(this, 'Hourly', {
      process: housekeeping,
      rate: '1 hour',
      source: 'schedule',
      missed,
      retryCount: 3,
      maximumAgeSeconds: 900,
    });
  }
}

interface InvokeEvery {
  readonly process: Process;
  readonly rate: string;
  readonly source: string;
  readonly missed: IQueue;
  readonly retryCount: number;
  readonly maximumAgeSeconds: number;
}

function invokeEvery(scope: Construct, id: string, { process, rate, source, missed, retryCount, maximumAgeSeconds }: InvokeEvery): void {
  const room = new Construct(scope, id);
  // Scheduler assumes the role for this account's schedules only, not on behalf of a schedule somewhere else.
  const conditions = { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } };
  const role = new Role(room, 'Role', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com', { conditions }) });
  Grant.addToPrincipal({ grantee: role, actions: ['lambda:InvokeFunction'], resourceArns: [process.function.functionArn] });
  Grant.addToPrincipal({ grantee: role, actions: ['sqs:SendMessage'], resourceArns: [missed.queueArn] });

  const schedule = new CfnSchedule(room, 'Schedule', {
    scheduleExpression: `rate(${rate})`,
    flexibleTimeWindow: { mode: 'OFF' },
    target: {
      arn: process.function.functionArn,
      roleArn: role.roleArn,
      input: JSON.stringify({ source }),
      retryPolicy: { maximumRetryAttempts: retryCount, maximumEventAgeInSeconds: maximumAgeSeconds },
      deadLetterConfig: { arn: missed.queueArn },
    },
  });
  // The role must be able to invoke before the first tick, or that tick ends in the dead letters.
  schedule.node.addDependency(role);
}
