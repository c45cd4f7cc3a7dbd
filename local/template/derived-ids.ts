import { createHash } from 'node:crypto';

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const LOWER_CASE = 'abcdefghijklmnopqrstuvwxyz0123456789';
const UPPER_CASE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const ALPHABETS = { alphanumeric: ALPHANUMERIC, lowerCase: LOWER_CASE, upperCase: UPPER_CASE };

/** Where AWS would make up random characters, these are derived from a seed: a restart must find the same names as before. */
export function deriveToken(seed: string, length: number, kind: keyof typeof ALPHABETS): string {
  const alphabet = ALPHABETS[kind];
  const bytes = createHash('sha256').update(seed).digest();
  return Array.from({ length }, (_, index) => alphabet[bytes[index % bytes.length]! % alphabet.length]).join('');
}

export function deriveUuid(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/**
 * A name no longer than its type allows. The end of a logical id is what tells two of them apart, so a cut name ends in a digest of the whole.
 */
export function fitName(name: string, maximumLength: number): string {
  if (name.length <= maximumLength) return name;
  return `${name.slice(0, maximumLength - 9)}-${deriveToken(name, 8, 'lowerCase')}`;
}

/** The full ARN of a secret, with the six characters that Secrets Manager appends; the same for the template and for the store of values. */
export function secretArn({ region, account, name }: { region: string; account: string; name: string }): string {
  return `arn:aws:secretsmanager:${region}:${account}:secret:${name}-${deriveToken(`secret ${name}`, 6, 'alphanumeric')}`;
}
