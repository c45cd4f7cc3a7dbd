import { Stack } from 'aws-cdk-lib';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { Grant } from 'aws-cdk-lib/aws-iam';
import { ViaServicePrincipal } from 'aws-cdk-lib/aws-kms';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';

/** Where the truth is kept, and how the functions come to know its address. */
export class WaybillDatabase {
  /**
   * Any Postgres that the functions can reach, by a secret whose value is its connection URL, `postgres://user:password@host/database`.
   * The functions run outside any VPC.
   */
  static fromUrlSecret(secret: ISecret): WaybillDatabase {
    return new WaybillDatabase(secret);
  }

  readonly secretName: string;
  /** What the SDK is asked for: the full ARN where it is known, else the name. A partial ARN is ambiguous. */
  readonly secretId: string;
  readonly #secret: ISecret;

  private constructor(secret: ISecret) {
    this.#secret = secret;
    this.secretName = secret.secretName;
    this.secretId = secret.secretFullArn ?? secret.secretName;
  }

  /** Lets a function read the connection URL and nothing else: `ISecret.grantRead` would also let it describe the secret. */
  grantConnect(grantee: IGrantable): void {
    // Secrets Manager appends six characters of its own to the name.
    const resource = this.#secret.secretFullArn ?? `${this.#secret.secretArn}-??????`;
    Grant.addToPrincipal({ grantee, actions: ['secretsmanager:GetSecretValue'], resourceArns: [resource] });
    const { encryptionKey } = this.#secret;
    const { region } = Stack.of(this.#secret);
    encryptionKey?.grantDecrypt(new ViaServicePrincipal(`secretsmanager.${region}.amazonaws.com`, grantee.grantPrincipal));
  }
}
