import { randomUUID } from 'node:crypto';
import { readJsonBody, type ServiceHandler } from './aws-call.ts';
import { AwsError } from './aws-error.ts';
import type { SecretStore } from './local-secret-store.ts';

/** Secrets Manager, as far as a function at run time needs it: the current value of a secret. */
export function secretsHandler(secrets: SecretStore): ServiceHandler {
  return async (call) => {
    if (call.action !== 'GetSecretValue') throw call.notEmulated('NotImplemented');
    const { SecretId: secretId, VersionId: versionId, VersionStage: versionStage = 'AWSCURRENT' } = readJsonBody(call);
    if (typeof secretId !== 'string') throw new AwsError(400, 'InvalidParameterException', 'SecretId must be the name or ARN of a secret');
    const secret = secrets.get(secretId);
    if (secret === undefined) {
      throw new AwsError(
        400,
        'ResourceNotFoundException',
        `the secret '${secretId}' has no value in the local cloud: set one before the start`,
      );
    }
    call.authorize('secretsmanager:GetSecretValue', secret.arn);
    if (versionStage !== 'AWSCURRENT' || (versionId !== undefined && versionId !== secret.versionId)) {
      throw new AwsError(400, 'ResourceNotFoundException', `the secret '${secretId}' has only its current version in the local cloud`);
    }
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': randomUUID() },
      body: JSON.stringify({
        ARN: secret.arn,
        Name: secret.name,
        SecretString: secret.value,
        VersionId: secret.versionId,
        VersionStages: ['AWSCURRENT'],
        CreatedDate: secret.createdAt.getTime() / 1000,
      }),
    };
  };
}
