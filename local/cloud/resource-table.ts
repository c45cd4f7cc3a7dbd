import { createFunction } from './create-function.ts';
import { createQueue } from './create-queue.ts';
import { createRoute } from './create-route.ts';
import { createSecret } from './create-secret.ts';
import type { Deployment } from './deployment.ts';
import { runTrigger } from './run-trigger.ts';
import { startMapping } from './start-mapping.ts';
import { startSchedule } from './start-schedule.ts';

/** Brings one resource to life; `not_run` says that this one cannot be, and is reported by name. */
export type Bring = (deployment: Deployment, logicalId: string) => Promise<void> | undefined | 'not_run' | void;

/** What runs. */
export const broughtUp: Record<string, Bring> = {
  'AWS::SQS::Queue': createQueue,
  'AWS::Lambda::Function': createFunction,
  'AWS::Lambda::EventSourceMapping': startMapping,
  'AWS::Scheduler::Schedule': startSchedule,
  'AWS::ApiGatewayV2::Route': createRoute,
  'AWS::SecretsManager::Secret': createSecret,
  'Custom::Trigger': runTrigger,
};

/** What others read when they are brought up, and what has no life of its own. */
export const partOfOthers = new Set([
  'AWS::IAM::Role',
  'AWS::IAM::Policy',
  'AWS::IAM::RolePolicy',
  'AWS::IAM::ManagedPolicy',
  'AWS::Lambda::Version',
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CDK::Metadata',
]);

/** What is left out knowingly, and what that means. Each is explained in docs/local-cloud.md. */
export const leftOut: Record<string, string> = {
  'AWS::Logs::LogGroup': 'logs are written to the data directory',
  'AWS::Lambda::Permission': 'resource policies are not checked',
  'AWS::SQS::QueuePolicy': 'resource policies are not checked',
  'AWS::Lambda::EventInvokeConfig': 'asynchronous invocations are not retried by the function',
  'AWS::CloudWatch::Alarm': 'alarms do not ring',
  'AWS::CloudWatch::Dashboard': 'dashboards are not drawn',
};
