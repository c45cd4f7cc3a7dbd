import { onTestFinished, vi } from 'vitest';
import { LocalSecretStore } from '../../local/aws-endpoint/local-secret-store.ts';
import { startAwsEndpoint } from '../../local/aws-endpoint/start-aws-endpoint.ts';
import { startAsyncInvocations } from '../../local/lambda/async-invocations.ts';
import type { FunctionSettings } from '../../local/lambda/function-settings.ts';
import { startFunction } from '../local/lambda/lambda-fixture.ts';

const region = 'us-east-1';
const account = '000000000000';

export interface Account {
  secrets: LocalSecretStore;
}

/** What the pool of the test may do: anything with what is called `open`. */
const statements = ['secretsmanager:GetSecretValue', 'lambda:InvokeFunction'].flatMap((Action) =>
  [`arn:aws:secretsmanager:${region}:${account}:secret:open*`, `arn:aws:lambda:${region}:${account}:function:open*`].map((Resource) => ({
    Effect: 'Allow' as const,
    Action,
    Resource,
  })),
);

/** The local cloud's AWS endpoint, for the SDK of this process, with a function called `open` if its source is given. It is gone after the test. */
export async function startAccount(source?: string, settings: Partial<FunctionSettings> = {}): Promise<Account> {
  const secrets = new LocalSecretStore({ region, account });
  const asyncInvocations = startAsyncInvocations(() => {});
  const functions = new Map();
  if (source !== undefined) {
    const { lambda } = await startFunction(source, settings);
    functions.set(`arn:aws:lambda:${region}:${account}:function:open`, { displayName: 'open', lambda });
  }
  const endpoint = await startAwsEndpoint({
    region,
    account,
    callers: () => new Map([['LOCALPOOL', { name: 'Pool', roleArn: `arn:aws:iam::${account}:role/Pool`, statements }]]),
    sqsUrl: 'http://127.0.0.1:1',
    secrets,
    lambda: { functions: () => functions, asyncInvocations },
    onRefused: () => {},
  });
  onTestFinished(async () => {
    await asyncInvocations.stop();
    await endpoint.close();
  });
  vi.stubEnv('AWS_ENDPOINT_URL', endpoint.url);
  vi.stubEnv('AWS_REGION', region);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'LOCALPOOL');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'unused');
  return { secrets };
}
