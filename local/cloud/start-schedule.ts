import { accessDenied } from '../aws-endpoint/aws-call.ts';
import { startSchedule as runSchedule } from '../events/schedule.ts';
import { evaluate } from '../iam/evaluate.ts';
import { mayAssume } from '../iam/may-assume.ts';
import type { InvocationResult } from '../lambda/invocation.ts';
import { ACCOUNT, addCaller, type Deployment, displayNameOf, functionByArn, senderTo } from './deployment.ts';

interface ScheduleProperties {
  ScheduleExpression: string;
  ScheduleExpressionTimezone?: string;
  State?: 'ENABLED' | 'DISABLED';
  Target: {
    Arn: string;
    RoleArn: string;
    Input?: string;
    RetryPolicy?: { MaximumRetryAttempts?: number; MaximumEventAgeInSeconds?: number };
    DeadLetterConfig?: { Arn: string };
  };
}

/** Invokes under the schedule's own role: it must trust the scheduler and allow the call, as in AWS. */
export function startSchedule(deployment: Deployment, logicalId: string): void {
  const { resolver, roles, callers, onProblem, onRefused } = deployment;
  const properties = resolver.resolveResource(logicalId).properties as unknown as ScheduleProperties;
  const { Arn: arn, RoleArn: roleArn, Input: input, RetryPolicy: retry = {}, DeadLetterConfig: deadLetters } = properties.Target;
  const name = displayNameOf(deployment, logicalId);
  if (arn.split(':')[2] !== 'lambda') throw new Error(`schedule ${name} targets '${arn}': only functions are invoked by local schedules`);
  const { lambda } = functionByArn(deployment, arn, `schedule ${name}`);
  const accessKeyId = addCaller(deployment, name, roleArn);
  if (!mayAssume(roles.get(roleArn)!, 'scheduler.amazonaws.com', { sourceAccount: ACCOUNT })) {
    throw new Error(`schedule ${name} cannot use its role: the role's trust policy does not name scheduler.amazonaws.com`);
  }

  async function invoke(event: unknown): Promise<InvocationResult> {
    const caller = callers.get(accessKeyId)!;
    const decision = evaluate(caller.statements, { action: 'lambda:InvokeFunction', resource: arn });
    if (decision.decision === 'allowed') return lambda.invoke(event);
    onRefused({ functionName: name, action: 'lambda:InvokeFunction', resource: arn, reason: decision.reason });
    return {
      status: 'failed',
      error: { errorType: 'AccessDeniedException', errorMessage: accessDenied(caller, 'lambda:InvokeFunction', arn, decision).message },
    };
  }

  const schedule = runSchedule({
    name,
    expression: properties.ScheduleExpression,
    timeZone: properties.ScheduleExpressionTimezone,
    state: properties.State ?? 'ENABLED',
    target: { invoke, input: JSON.parse(input ?? '{}'), arn },
    retryPolicy: { maximumRetryAttempts: retry.MaximumRetryAttempts, maximumEventAgeInSeconds: retry.MaximumEventAgeInSeconds },
    sendToDeadLetterQueue: deadLetters && senderTo(deployment, accessKeyId, deadLetters.Arn),
    onProblem,
  });
  deployment.sources.push(schedule);
}
