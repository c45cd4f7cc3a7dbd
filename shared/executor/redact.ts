export type Redact = (text: string) => string;

const REDACTED = '[redacted]';
const SECRET_NAME = /SECRET|TOKEN|PASSW|PASSPHRASE|KEY|CREDENTIAL/i;
/** Shorter values are words that occur everywhere; blotting them out would hide more than it protects. */
const LEAST_LENGTH = 8;
/** The lengths are bounded so that no text, however large or odd, takes more than linear time. */
const URL_PASSWORD = /:\/\/([^\s:/@]{0,256}):([^\s/]{1,1024})@/g;

/**
 * Blots out what this process knows to be secret: the values of variables whose names say so, and passwords in URLs, wherever in a text they turn up.
 * It knows the environment of this moment, since user code may load secrets into it while it runs: make one for each use.
 */
export function createRedact(secretUrls: readonly string[] = [], environment: NodeJS.ProcessEnv = process.env): Redact {
  const secrets = new Set<string>();
  const add = (value: string) => {
    if (value.length < LEAST_LENGTH) return;
    secrets.add(value);
    // As it looks inside JSON.
    secrets.add(JSON.stringify(value).slice(1, -1));
  };
  for (const [name, value = ''] of Object.entries(environment)) {
    if (SECRET_NAME.test(name)) [value, value.trim()].forEach(add);
    passwordsIn(value).forEach(add);
  }
  secretUrls.flatMap(passwordsIn).forEach(add);
  // The longest first: what is part of another must not leave the rest of it behind.
  const ordered = [...secrets].sort((a, b) => b.length - a.length);
  return (text) =>
    ordered
      .reduce((redacted, secret) => redacted.replaceAll(secret, REDACTED), text)
      .replace(URL_PASSWORD, (_, user: string) => `://${user}:${REDACTED}@`);
}

/** As written and as decoded: clients quote either. */
function passwordsIn(text: string): string[] {
  return [...text.matchAll(URL_PASSWORD)].flatMap(([, , password = '']) => [password, decode(password)]);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
