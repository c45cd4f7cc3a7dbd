import { type Deployment, functionByArn } from './deployment.ts';

interface RouteProperties {
  RouteKey: string;
  Target: string;
  AuthorizationType?: string;
}

interface IntegrationProperties {
  IntegrationType: string;
  IntegrationUri: string;
  PayloadFormatVersion: string;
  TimeoutInMillis?: number;
}

const MAXIMUM_TIMEOUT_MS = 30_000;

/** A route with the function behind it. Authorizers other than IAM are not emulated: such a route would answer whom AWS refuses. */
export function createRoute(deployment: Deployment, logicalId: string): void {
  const { resolver, assembly, routes } = deployment;
  const {
    RouteKey: routeKey,
    Target: target,
    AuthorizationType: authorizationType = 'NONE',
  } = resolver.resolveResource(logicalId).properties as unknown as RouteProperties;
  if (authorizationType !== 'NONE' && authorizationType !== 'AWS_IAM') {
    throw new Error(`route '${routeKey}' uses a ${authorizationType} authorizer: only AWS_IAM and NONE run locally`);
  }
  const integrationId = Object.keys(assembly.template.Resources).find(
    (id) =>
      assembly.template.Resources[id]!.Type === 'AWS::ApiGatewayV2::Integration' && target === `integrations/${String(resolver.ref(id))}`,
  );
  if (!integrationId) throw new Error(`route '${routeKey}' has the target '${target}', which is no integration of the stack`);
  const integration = resolver.resolveResource(integrationId).properties as unknown as IntegrationProperties;
  if (integration.IntegrationType !== 'AWS_PROXY' || integration.PayloadFormatVersion !== '2.0') {
    throw new Error(`route '${routeKey}' has a ${integration.IntegrationType} integration: only AWS_PROXY with payload 2.0 runs locally`);
  }
  const { lambda } = functionByArn(deployment, integration.IntegrationUri, `route '${routeKey}'`);
  routes.push({
    routeKey,
    invoke: (event) => lambda.invoke(event),
    payloadFormatVersion: '2.0',
    timeoutMs: integration.TimeoutInMillis ?? MAXIMUM_TIMEOUT_MS,
    authorizationType,
  });
}
