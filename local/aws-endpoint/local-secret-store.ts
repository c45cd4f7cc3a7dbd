import { randomUUID } from 'node:crypto';
import { secretArn } from '../template/derived-ids.ts';

export interface StoredSecret {
  arn: string;
  name: string;
  value: string;
  versionId: string;
  createdAt: Date;
}

export interface SecretStore {
  /** By name, by full ARN, or by ARN without the six characters at its end. */
  get(idOrArn: string): StoredSecret | undefined;
}

/** Secrets in memory: their values are set anew at each start and never reach a disk. Their ARNs are those that the template resolver answers. */
export class LocalSecretStore implements SecretStore {
  readonly #region: string;
  readonly #account: string;
  readonly #secrets = new Map<string, StoredSecret>();

  constructor({ region, account }: { region: string; account: string }) {
    this.#region = region;
    this.#account = account;
  }

  /** Sets a secret's value, by its name or by the full ARN that the template resolver answers for it; returns the full ARN. */
  put(nameOrArn: string, value: string): string {
    const name = nameOrArn.replace(/^arn:aws:secretsmanager:[^:]*:[^:]*:secret:(.+)-[A-Za-z0-9]{6}$/, '$1');
    const arn = secretArn({ region: this.#region, account: this.#account, name });
    this.#secrets.set(name, { arn, name, value, versionId: randomUUID(), createdAt: new Date() });
    return arn;
  }

  get(idOrArn: string): StoredSecret | undefined {
    const prefix = `arn:aws:secretsmanager:${this.#region}:${this.#account}:secret:`;
    if (!idOrArn.startsWith('arn:')) return this.#secrets.get(idOrArn);
    if (!idOrArn.startsWith(prefix)) return undefined;
    const rest = idOrArn.slice(prefix.length);
    const complete = this.#secrets.get(rest.slice(0, -7));
    return complete?.arn === idOrArn ? complete : this.#secrets.get(rest);
  }
}
