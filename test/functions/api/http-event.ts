import type { APIGatewayProxyEventV2 } from 'aws-lambda';

export interface HttpRequest {
  method?: string;
  query?: string | Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  isBase64Encoded?: boolean;
  /** The principal that signed the request, for routes with IAM authorization. */
  userArn?: string;
}

/** The event of payload format 2.0 that API Gateway makes of a request: the path decoded, the query string as it came. */
export function httpEvent(path: string, request: HttpRequest = {}): APIGatewayProxyEventV2 {
  const { method = 'GET', query = '', headers = {}, body, isBase64Encoded = false, userArn } = request;
  const rawQueryString = new URLSearchParams(query).toString();
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: path,
    rawQueryString,
    headers: { host: 'api.example.com', ...headers },
    ...(rawQueryString && { queryStringParameters: Object.fromEntries(new URLSearchParams(rawQueryString)) }),
    requestContext: {
      accountId: '123456789012',
      apiId: 'api-id',
      ...(userArn && { authorizer: { iam: { userArn } } }),
      domainName: 'api.example.com',
      domainPrefix: 'api',
      http: { method, path, protocol: 'HTTP/1.1', sourceIp: '192.0.2.1', userAgent: 'test' },
      requestId: 'request-1',
      routeKey: '$default',
      stage: '$default',
      time: '01/Jan/2026:00:00:00 +0000',
      timeEpoch: 1_767_225_600_000,
    },
    ...(body !== undefined && { body }),
    isBase64Encoded,
  };
}
