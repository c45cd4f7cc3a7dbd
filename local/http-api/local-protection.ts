import type { IncomingHttpHeaders } from 'node:http';

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface ProtectedRequest {
  method: string;
  headers: IncomingHttpHeaders;
  /** Origins that the API's CORS configuration names one by one; a wildcard does not count here. */
  namedOrigins: readonly string[];
}

/**
 * Why a request is refused, or undefined. This exists only on the laptop, where the API asks for no credentials and any page in the same browser can reach it:
 * a foreign name that resolves to 127.0.0.1 (DNS rebinding) is refused by its Host header, and another site's form or script that wants to change something by
 * its Origin.
 */
export function refuseForeignRequest({ method, headers, namedOrigins }: ProtectedRequest): string | undefined {
  const { host = '', origin } = headers;
  const hostName = URL.parse(`http://${host}`)?.hostname ?? '';
  if (!LOCAL_NAMES.has(hostName)) return `host '${host}' is not this machine: use localhost or 127.0.0.1`;
  if (SAFE_METHODS.has(method) || origin === undefined || origin === `http://${host}` || namedOrigins.includes(origin)) return undefined;
  return `origin '${origin}' may not change anything here: add it to the API's CORS configuration if it should`;
}
