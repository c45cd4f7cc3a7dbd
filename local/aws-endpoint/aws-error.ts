import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A refusal in the words of an AWS service. `type` becomes the `name` of the error that the SDK throws. */
export class AwsError extends Error {
  readonly statusCode: number;
  readonly type: string;

  constructor(statusCode: number, type: string, message: string) {
    super(message);
    this.statusCode = statusCode;
    this.type = type;
  }
}

export interface AwsAnswer {
  statusCode: number;
  headers: Record<string, string | string[]>;
  body: string | Buffer;
}

/** Writes an error the way the caller's SDK expects it: AWS speaks JSON or XML, depending on the service, and one cannot read the other. */
export function answerError({ statusCode, type, message }: AwsError, service: string, headers: IncomingHttpHeaders): AwsAnswer {
  const requestId = randomUUID();
  const contentType = headers['content-type'] ?? '';
  const error = `<Code>${type}</Code><Message>${escapeXml(message)}</Message>`;
  const xml = (body: string): AwsAnswer => ({ statusCode, headers: { 'content-type': 'text/xml', 'x-amzn-requestid': requestId }, body });
  if (service === 's3') return xml(`<Error>${error}<RequestId>${requestId}</RequestId></Error>`);
  if (contentType.includes('x-www-form-urlencoded')) {
    return xml(`<ErrorResponse><Error><Type>Sender</Type>${error}</Error><RequestId>${requestId}</RequestId></ErrorResponse>`);
  }
  return {
    statusCode,
    headers: {
      'content-type': contentType.includes('x-amz-json') ? contentType : 'application/json',
      'x-amzn-requestid': requestId,
      'x-amzn-errortype': type,
    },
    body: JSON.stringify({ __type: type, message }),
  };
}

function escapeXml(text: string): string {
  return text.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`);
}
