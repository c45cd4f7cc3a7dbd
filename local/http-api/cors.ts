import type { IncomingHttpHeaders } from 'node:http';

/** `CorsConfiguration` of `AWS::ApiGatewayV2::Api`, as the template states it. */
export interface CorsConfiguration {
  AllowOrigins?: string[];
  AllowMethods?: string[];
  AllowHeaders?: string[];
  ExposeHeaders?: string[];
  MaxAge?: number;
  AllowCredentials?: boolean;
}

export type HeaderList = Record<string, string>;

export function isPreflight(method: string, headers: IncomingHttpHeaders): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/** What API Gateway adds to every answer for an allowed origin; with CORS configured, the function's own CORS headers are dropped. */
export function corsHeaders(configuration: CorsConfiguration, origin: string | undefined): HeaderList {
  const { AllowOrigins = [], ExposeHeaders = [], AllowCredentials = false } = configuration;
  if (origin === undefined || !AllowOrigins.some((allowed) => allowed === '*' || allowed.toLowerCase() === origin.toLowerCase())) return {};
  return {
    'access-control-allow-origin': AllowOrigins.includes('*') ? '*' : origin,
    ...(AllowCredentials ? { 'access-control-allow-credentials': 'true' } : {}),
    ...(ExposeHeaders.length > 0 ? { 'access-control-expose-headers': ExposeHeaders.join(',') } : {}),
  };
}

/** API Gateway answers a preflight itself, without invoking the function; for an origin that is not allowed the answer allows nothing. */
export function preflightHeaders(configuration: CorsConfiguration, origin: string | undefined): HeaderList {
  const { AllowMethods = [], AllowHeaders = [], MaxAge } = configuration;
  const headers = corsHeaders(configuration, origin);
  if (Object.keys(headers).length === 0) return {};
  return {
    ...headers,
    ...(AllowMethods.length > 0 ? { 'access-control-allow-methods': AllowMethods.join(',') } : {}),
    ...(AllowHeaders.length > 0 ? { 'access-control-allow-headers': AllowHeaders.join(',') } : {}),
    ...(MaxAge === undefined ? {} : { 'access-control-max-age': String(MaxAge) }),
  };
}
