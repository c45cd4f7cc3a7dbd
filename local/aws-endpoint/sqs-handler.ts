import { type AwsCall, readJsonBody, type ServiceHandler } from './aws-call.ts';
import { type AwsAnswer, AwsError } from './aws-error.ts';
import type { Forwarder } from './forward-request.ts';

/** The permission that each action of SQS needs. What is missing here is missing in the emulator too. */
const permissions = new Map([
  ['SendMessage', 'sqs:SendMessage'],
  ['SendMessageBatch', 'sqs:SendMessage'],
  ['ReceiveMessage', 'sqs:ReceiveMessage'],
  ['DeleteMessage', 'sqs:DeleteMessage'],
  ['DeleteMessageBatch', 'sqs:DeleteMessage'],
  ['ChangeMessageVisibility', 'sqs:ChangeMessageVisibility'],
  ['ChangeMessageVisibilityBatch', 'sqs:ChangeMessageVisibility'],
  ['GetQueueAttributes', 'sqs:GetQueueAttributes'],
  ['SetQueueAttributes', 'sqs:SetQueueAttributes'],
  ['GetQueueUrl', 'sqs:GetQueueUrl'],
  ['CreateQueue', 'sqs:CreateQueue'],
  ['DeleteQueue', 'sqs:DeleteQueue'],
  ['PurgeQueue', 'sqs:PurgeQueue'],
  ['ListQueues', 'sqs:ListQueues'],
  ['ListQueueTags', 'sqs:ListQueueTags'],
  ['TagQueue', 'sqs:TagQueue'],
  ['UntagQueue', 'sqs:UntagQueue'],
]);

/**
 * Exactly a queue URL and nothing around it. The emulator takes the text after the last slash for the queue's name; a laxer reading here would let
 * `…/allowed?/other` be checked as one queue and delivered to another.
 */
const QUEUE_URL = /^https?:\/\/[^/?#]+\/(\d{12})\/([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$/;

interface SqsSettings {
  region: string;
  account: string;
  emulator: Forwarder;
  /** The address of this endpoint, which queue URLs must carry: the SDK sends to the host of the queue's URL, past this check if it were another. */
  endpointUrl: () => string;
}

/** SQS: checks the caller's permission on the queue, then lets the emulator do the work. */
export function sqsHandler({ region, account, emulator, endpointUrl }: SqsSettings): ServiceHandler {
  return async (call) => {
    const permission = permissions.get(call.action);
    if (permission === undefined || call.headers['x-amz-target'] === undefined) throw call.notEmulated('NotImplemented');
    const input = readJsonBody(call);
    const queue = call.action === 'ListQueues' ? undefined : readQueue(input, account);
    call.authorize(permission, queue === undefined ? '*' : `arn:aws:sqs:${region}:${queue.account}:${queue.name}`);
    if (queue !== undefined && queue.account !== account) {
      throw new AwsError(
        400,
        'QueueDoesNotExist',
        `queue '${queue.name}' of account ${queue.account} is not in the local cloud, account ${account}`,
      );
    }
    const answer = await emulator.forward(emulatorHeaders(call, call.action), call.body);
    if (call.action === 'ReceiveMessage' && call.hungUp.aborted) await returnMessages(call, input, answer, emulator);
    return answer.statusCode === 200 ? rewriteQueueUrls(answer, (name) => `${endpointUrl()}/${account}/${name}`, call.action) : answer;
  };
}

function readQueue({ QueueUrl: url, QueueName: name }: Record<string, unknown>, account: string): { account: string; name: string } {
  if (url === undefined && typeof name === 'string') return { account, name };
  const match = QUEUE_URL.exec(String(url));
  if (match !== null) return { account: match[1]!, name: match[2]! };
  throw new AwsError(400, 'InvalidAddress', `QueueUrl is ${JSON.stringify(url)}: it must look like http://host/000000000000/queue-name`);
}

/** What was checked is what is asked for: the action is written anew. The emulator reads the region from the signature. */
function emulatorHeaders({ headers }: AwsCall, action: string): Record<string, string> {
  return {
    'content-type': 'application/x-amz-json-1.0',
    'x-amz-target': `AmazonSQS.${action}`,
    authorization: headers.authorization ?? '',
  };
}

/**
 * The emulator does not notice that a long poll was abandoned, and would hand the next messages to nobody until their visibility timeout ends. They
 * are made visible again here. Killed before that, the visibility timeout brings them back all the same.
 */
async function returnMessages(call: AwsCall, { QueueUrl }: Record<string, unknown>, answer: AwsAnswer, emulator: Forwarder): Promise<void> {
  const { Messages: messages = [] } = JSON.parse(answer.body.toString()) as { Messages?: { ReceiptHandle: string }[] };
  if (messages.length === 0) return;
  const Entries = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle, VisibilityTimeout: 0 }));
  await emulator.forward(emulatorHeaders(call, 'ChangeMessageVisibilityBatch'), JSON.stringify({ QueueUrl, Entries }));
}

/** Only these answers contain URLs, and the emulator's are its own. */
function rewriteQueueUrls(answer: AwsAnswer, urlOf: (name: string) => string, action: string): AwsAnswer {
  if (action !== 'GetQueueUrl' && action !== 'CreateQueue' && action !== 'ListQueues') return answer;
  const output = JSON.parse(answer.body.toString()) as { QueueUrl?: string; QueueUrls?: string[] };
  const rewrite = (url: string) => urlOf(url.slice(url.lastIndexOf('/') + 1));
  if (output.QueueUrl !== undefined) output.QueueUrl = rewrite(output.QueueUrl);
  if (output.QueueUrls !== undefined) output.QueueUrls = output.QueueUrls.map(rewrite);
  return { ...answer, body: JSON.stringify(output) };
}
