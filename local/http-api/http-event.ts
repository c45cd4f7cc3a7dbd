import type { IncomingMessage } from 'node:http';
import type { RouteMatch } from './route.ts';

/** Who calls, for routes with IAM authorization. The laptop checks no signature: every caller is this one. */
export interface LocalIdentity {
  accessKey: string;
  accountId: string;
  callerId: string;
  userArn: string;
  userId: string;
}

export interface HttpEventSource {
  request: IncomingMessage;
  body: Buffer;
  /** The path, percent-decoded, without the stage. */
  path: string;
  rawQueryString: string;
  match: RouteMatch;
  apiId: string;
  stageName: string;
  identity: LocalIdentity;
  requestId: string;
  now: Date;
}

/** API Gateway's event, payload format 2.0. Like there, fields without content are absent, `cookie` is not among the headers, and the path is decoded. */
export function buildHttpEvent(source: HttpEventSource): unknown {
  const { request, body, match, stageName, identity, now } = source;
  const { cookies, headers } = readHeaders(request);
  const rawPath = stageName === '$default' ? source.path : `/${stageName}${source.path}`;
  const isText = isTextType(headers['content-type']);
  const domainName = (headers.host ?? '').replace(/:\d+$/, '');
  return {
    version: '2.0',
    routeKey: match.route.routeKey,
    rawPath,
    rawQueryString: source.rawQueryString,
    ...(cookies.length > 0 ? { cookies } : {}),
    headers,
    ...(source.rawQueryString === '' ? {} : { queryStringParameters: joinParameters(source.rawQueryString) }),
    requestContext: {
      accountId: identity.accountId,
      apiId: source.apiId,
      ...(match.route.authorizationType === 'AWS_IAM'
        ? { authorizer: { iam: { ...identity, cognitoIdentity: null, principalOrgId: null } } }
        : {}),
      domainName,
      domainPrefix: domainName.split('.')[0],
      http: {
        method: request.method,
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: readSourceIp(request),
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: source.requestId,
      routeKey: match.route.routeKey,
      stage: stageName,
      time: formatLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(match.pathParameters).length > 0 ? { pathParameters: match.pathParameters } : {}),
    ...(body.length > 0 ? { body: body.toString(isText ? 'utf8' : 'base64') } : {}),
    isBase64Encoded: body.length > 0 && !isText,
  };
}

/** Names in lower case, repeated headers joined by commas, cookies apart. */
function readHeaders(request: IncomingMessage): { cookies: string[]; headers: Record<string, string> } {
  const headers: Record<string, string> = {};
  const cookies: string[] = [];
  for (const [name, values = []] of Object.entries(request.headersDistinct)) {
    if (name === 'cookie') cookies.push(...values.flatMap((value) => value.split(/; */)).filter((cookie) => cookie !== ''));
    else headers[name] = values.join(',');
  }
  headers['x-forwarded-for'] = readSourceIp(request);
  headers['x-forwarded-port'] = String(request.socket.localPort ?? '');
  headers['x-forwarded-proto'] = 'http';
  return { cookies, headers };
}

function readSourceIp(request: IncomingMessage): string {
  return (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
}

function joinParameters(rawQueryString: string): Record<string, string> {
  const parameters = new URLSearchParams(rawQueryString);
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name).join(',')]));
}

/** Only these reach a function as text; everything else, forms and bodies without a type included, arrives in base64. */
function isTextType(contentType = ''): boolean {
  const mediaType = (contentType.split(';')[0] ?? '').trim().toLowerCase();
  return mediaType.startsWith('text/') || /^application\/(json|xml|javascript)$/.test(mediaType);
}

/** `16/Nov/2026:10:00:00 +0000` */
function formatLogTime(now: Date): string {
  const [, day, month, year, time] = /^\w+, (\d+) (\w+) (\d+) ([\d:]+)/.exec(now.toUTCString()) ?? [];
  return `${day}/${month}/${year}:${time} +0000`;
}
