import { type Deployment, functionByArn } from './deployment.ts';

/** Runs a deploy trigger at its place in the order, as the CDK's provider function would; a failure fails the start. */
export async function runTrigger(deployment: Deployment, logicalId: string): Promise<void> {
  const { properties } = deployment.resolver.resolveResource(logicalId);
  const { lambda, displayName, logicalId: functionId } = functionByArn(deployment, String(properties.HandlerArn), logicalId);
  const result = await lambda.invoke({});
  if (result.status === 'succeeded') deployment.triggered.set(functionId, result.payload);
  else {
    const reason = result.status === 'throttled' ? 'it was throttled' : `${result.error.errorType}: ${result.error.errorMessage}`;
    throw new Error(`deploy trigger ${displayName} failed, so the stack was not brought up: ${reason}`);
  }
}
