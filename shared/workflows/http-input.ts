import { describedInput, type FindMistakes, type InputSchema } from './described-input.ts';
import { REFERENCE_FORMS, referenceSchemas, type SecretReference } from './secret-reference.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export interface HttpInput {
  /** `http:` or `https:`; a reference if the URL itself is the secret, as that of a webhook is. */
  url: string | SecretReference;
  method?: (typeof METHODS)[number];
  /** What looks like a secret by its name must be a reference; `prefix` stands in front of what is referred to, as in `Bearer `. */
  headers?: Record<string, string | (SecretReference & { prefix?: string })>;
  /** Text is sent as it is, anything else as JSON. */
  body?: unknown;
  /** The answers that count as success; every 2xx if not said. */
  expectedStatuses?: number[];
  /** For one request with its redirects and the whole answer; 30 if not said. */
  timeoutSeconds?: number;
  /** How much of the answer's body is read and kept; 64 KiB if not said. */
  maxResponseBytes?: number;
  maxRedirects?: number;
  /** The longest `Retry-After` of a 429 or 503 that is waited for without counting as a failure; 900 if not said. */
  maxWaitSeconds?: number;
  /** The headers of the answer that are kept. */
  keepHeaders?: string[];
}

export const HTTP_DEFAULTS = {
  method: 'GET',
  timeoutSeconds: 30,
  maxResponseBytes: 64 * 1024,
  maxRedirects: 5,
  maxWaitSeconds: 900,
  keepHeaders: ['content-type', 'content-length', 'date', 'etag', 'last-modified', 'x-request-id'],
} as const;

const text = (maxLength: number): InputSchema => ({ type: 'string', minLength: 1, maxLength });
const prefix: InputSchema = { type: 'string', maxLength: 200, description: 'What stands in front of the secret, as in "Bearer "' };

export const httpSchema: InputSchema = {
  type: 'object',
  required: ['url'],
  additionalProperties: false,
  properties: {
    url: { anyOf: [text(8_192), ...referenceSchemas()], description: `a URL, ${REFERENCE_FORMS}` },
    method: { type: 'string', enum: METHODS, default: HTTP_DEFAULTS.method },
    headers: {
      type: 'object',
      additionalProperties: {
        anyOf: [{ type: 'string', maxLength: 8_192 }, ...referenceSchemas({ prefix })],
        description: `text, ${REFERENCE_FORMS}`,
      },
    },
    body: { description: 'Text is sent as it is, anything else as JSON' },
    expectedStatuses: { type: 'array', minItems: 1, maxItems: 100, items: { type: 'integer', minimum: 200, maximum: 599 } },
    timeoutSeconds: { type: 'integer', minimum: 1, maximum: 900, default: HTTP_DEFAULTS.timeoutSeconds },
    maxResponseBytes: { type: 'integer', minimum: 0, maximum: 200_000, default: HTTP_DEFAULTS.maxResponseBytes },
    maxRedirects: { type: 'integer', minimum: 0, maximum: 20, default: HTTP_DEFAULTS.maxRedirects },
    maxWaitSeconds: { type: 'integer', minimum: 0, maximum: 86_400, default: HTTP_DEFAULTS.maxWaitSeconds },
    keepHeaders: { type: 'array', maxItems: 50, items: text(200), default: HTTP_DEFAULTS.keepHeaders },
  },
};

/** By their names: what carries a secret is told from what does not, in requests as in answers. */
export function isSecretHeader(name: string): boolean {
  return /authori[sz]ation|cookie|token|secret|passw|api-?key|credential|signature/i.test(name);
}

/** Set by the connection, or by what is sent over it. */
const OUR_HEADERS = /^(?:accept-encoding|connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What is wrong with a URL; nothing of it is repeated, since it may be a secret. */
export function findUrlMistake(given: string): string | undefined {
  const url = URL.parse(given);
  if (!url) return 'is no URL: it must be complete, as in https://example.com/path';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `has the protocol '${url.protocol.slice(0, 30)}': allowed are http: and https:`;
  return url.username || url.password ? 'holds a user or password: give them in an authorization header, as a reference' : undefined;
}

const findMistakes: FindMistakes<HttpInput> = ({ url, method = 'GET', headers = {}, body, keepHeaders = [] }) => {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const urlMistake = typeof url === 'string' ? findUrlMistake(url) : undefined;
  return [
    ...(urlMistake ? [{ path: ['url'], message: urlMistake }] : []),
    ...(body !== undefined && (method === 'GET' || method === 'HEAD')
      ? [{ path: ['body'], message: `is not allowed with ${method}` }]
      : []),
    ...Object.entries(headers).flatMap(([name, value]) =>
      findHeaderMistakes(name, value, names).map((message) => ({ path: ['headers', name], message })),
    ),
    ...keepHeaders.flatMap((name, index) =>
      isSecretHeader(name) ? [{ path: ['keepHeaders', index], message: `must not be '${name}', which is not to be stored` }] : [],
    ),
  ];
};

function findHeaderMistakes(name: string, value: string | SecretReference, names: string[]): string[] {
  if (!HEADER_NAME.test(name)) return ['is no name of a header'];
  if (OUR_HEADERS.test(name)) return ['is set by the connection itself: leave it out'];
  if (names.filter((other) => other === name.toLowerCase()).length > 1) return ['is given twice, in different cases'];
  if (typeof value !== 'string') return [];
  if (isSecretHeader(name)) return [`looks like a secret, and inputs are stored and shown: give ${REFERENCE_FORMS} instead`];
  return HEADER_VALUE.test(value) ? [] : ['holds a character that a header must not have'];
}

export const httpInput = describedInput<HttpInput>(httpSchema, findMistakes);
