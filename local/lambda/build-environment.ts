import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { FunctionSettings } from './function-settings.ts';

export interface EnvironmentPlace {
  region: string;
  awsEndpointUrl: string;
  /** Address of the Runtime API as this one process must call it. */
  runtimeApi: string;
}

/**
 * The whole environment of a function's process. Nothing is inherited: what works only thanks to the developer's shell would fail in the
 * cloud. As there, a template may set LANG, PATH and TZ but none of the reserved names.
 */
export function buildEnvironment(
  settings: FunctionSettings,
  { region, awsEndpointUrl, runtimeApi }: EnvironmentPlace,
): Record<string, string> {
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '/');
  return {
    LANG: 'en_US.UTF-8',
    PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    TZ: 'UTC',
    ...settings.environment,
    AWS_ACCESS_KEY_ID: settings.accessKeyId,
    AWS_DEFAULT_REGION: region,
    AWS_ENDPOINT_URL: awsEndpointUrl,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(settings.memoryMegabytes),
    AWS_LAMBDA_FUNCTION_NAME: settings.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${settings.name}`,
    AWS_LAMBDA_LOG_STREAM_NAME: `${day}/[$LATEST]${randomBytes(16).toString('hex')}`,
    AWS_LAMBDA_RUNTIME_API: runtimeApi,
    AWS_REGION: region,
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_SESSION_TOKEN: 'local',
    // Without it libraries ask the system for the home directory and read the developer's ~/.aws/config and ~/.pgpass.
    HOME: '/nonexistent',
    LAMBDA_TASK_ROOT: settings.codeDirectory,
    _HANDLER: settings.handler,
  };
}
