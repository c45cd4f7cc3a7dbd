import { isRecord, TemplateError } from './template.ts';

/** `{{resolve:secretsmanager:<secret>:SecretString:<key>:<stage>:<version>}}`, taken apart. */
export interface SecretReference {
  secretId: string;
  jsonKey?: string;
  versionStage?: string;
  versionId?: string;
}

/** Answers the value of a secret that the template refers to. */
export type ResolveSecret = (reference: SecretReference) => string;

const PATTERN = /\{\{resolve:([^:}]+):([^}]*)\}\}/g;
/** A secret's ARN contains colons itself, so it is recognised before the parts are split. */
const SECRET = /^(arn:[^:]*:secretsmanager:[^:]*:[^:]*:secret:[^:]+|[^:]+)(?::(.*))?$/;

/**
 * Replaces dynamic references in everything that has been resolved, in one last pass: as in CloudFormation, intrinsic functions see the reference
 * and not the secret, and a secret's value that looks like a reference is not followed.
 */
export function replaceDynamicReferences(value: unknown, place: string, resolveSecret: ResolveSecret | undefined): unknown {
  if (typeof value === 'string') return replaceInText(value, place, resolveSecret);
  if (Array.isArray(value)) return value.map((item, index) => replaceDynamicReferences(item, `${place}.${index}`, resolveSecret));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaceDynamicReferences(item, `${place}.${key}`, resolveSecret)]),
  );
}

function replaceInText(text: string, place: string, resolveSecret: ResolveSecret | undefined): string {
  return text.replace(PATTERN, (whole, service: string, rest: string) => {
    if (service !== 'secretsmanager' || resolveSecret === undefined) {
      throw new TemplateError(
        `${place} contains '${whole}': dynamic references to ${service} are not resolved locally; read the value at run time`,
      );
    }
    const [, secretId, options = ''] = SECRET.exec(rest) ?? [];
    const [kind = '', jsonKey, versionStage, versionId] = options.split(':');
    if (secretId === undefined || (kind !== '' && kind !== 'SecretString')) {
      throw new TemplateError(`${place} contains '${whole}': write {{resolve:secretsmanager:secret-id:SecretString:json-key}}`);
    }
    return resolveSecret({
      secretId,
      ...(jsonKey ? { jsonKey } : {}),
      ...(versionStage ? { versionStage } : {}),
      ...(versionId ? { versionId } : {}),
    });
  });
}
