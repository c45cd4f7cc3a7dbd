export interface Credential {
  accessKeyId: string;
  service: string;
}

const CREDENTIAL = /^AWS4-HMAC-SHA256 .*?Credential=([^/,\s]+)\/\d{8}\/[^/,\s]+\/([^/,\s]+)\/aws4_request/;

/**
 * Who signed a request, and for which service. The signature itself is not verified: the access key says which function calls, so that its role can
 * be checked; it does not defend against other programs of the same user, who could read the key anyway.
 */
export function readCredential(authorization: string | undefined): Credential | undefined {
  const [, accessKeyId, service] = CREDENTIAL.exec(authorization ?? '') ?? [];
  return accessKeyId === undefined || service === undefined ? undefined : { accessKeyId, service };
}
