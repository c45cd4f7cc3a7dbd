import type { ExecutionId } from '../model/ids.ts';
import { decodeExecutionBell } from '../queue/doorbell.ts';
import { redactLog } from './redact-log.ts';
import { type ExecutorDependencies, type Invocation, type InvocationResult, runExecutions } from './run.ts';

export interface BellMessage {
  messageId: string;
  body: string;
}

/**
 * Answers a batch of bells and gives the messages that should be delivered again: those whose executions may be started but were not, because the claim failed or because
 * another of the batch must run alone. A bell that no version of ours has written is dropped and logged: it would never become readable.
 */
export async function runBatch(
  messages: BellMessage[],
  invocation: Omit<Invocation, 'executionIds'>,
  dependencies: ExecutorDependencies,
): Promise<string[]> {
  const log = redactLog(dependencies.log, [dependencies.databaseOptions.url]);
  const messagesOf = new Map<ExecutionId, string[]>();
  for (const { messageId, body } of messages) {
    const executionId = decodeExecutionBell(body);
    if (executionId === undefined)
      log.error('a bell could not be read and is dropped', { messageId, body: body.slice(0, 200), length: body.length });
    else messagesOf.set(executionId, [...(messagesOf.get(executionId) ?? []), messageId]);
  }
  const executionIds = [...messagesOf.keys()];
  if (!executionIds.length) return [];
  let result: Pick<InvocationResult, 'postponed'>;
  try {
    result = await runExecutions({ ...invocation, executionIds }, dependencies);
  } catch (error) {
    log.error('executions could not be claimed, their bells will ring again', { executionIds: executionIds.map(String), error });
    result = { postponed: executionIds };
  }
  return result.postponed.flatMap((id) => messagesOf.get(id) ?? []);
}
