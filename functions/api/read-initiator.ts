import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Initiator } from '../../shared/model/initiator.ts';

/** What API Gateway adds for routes that ask for IAM credentials; the general type of its events leaves it out. */
interface IamAuthorized {
  authorizer?: { iam?: { userArn?: string } };
}

/** Who asks: the principal that signed the request. Its name is what people call it, the user's or the session's: the last part of its ARN. */
export function readInitiator({ requestContext }: APIGatewayProxyEventV2): Initiator {
  const arn = (requestContext as IamAuthorized).authorizer?.iam?.userArn;
  if (!arn) return { type: 'user', id: 'anonymous', name: 'anonymous' };
  return { type: 'user', id: arn, name: arn.split(/[/:]/).at(-1) || arn };
}
