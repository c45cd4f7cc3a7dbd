import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { Waybill, WaybillDatabase } from './index.ts';

export interface WaybillStackProps extends StackProps {
  /** The module whose default export is the app. */
  readonly app: string;
  /** A secret that exists already; its value is the connection URL of a Postgres. */
  readonly databaseUrlSecretName: string;
}

/** The smallest useful stack: an app, a database by its URL, and the address to call. */
export class WaybillStack extends Stack {
  constructor(scope: Construct, id: string, { app, databaseUrlSecretName, ...props }: WaybillStackProps) {
    super(scope, id, props);
    const databaseUrl = Secret.fromSecretNameV2(this, 'DatabaseUrl', databaseUrlSecretName);
    const jobs = new Waybill(this, 'Jobs', { app, database: WaybillDatabase.fromUrlSecret(databaseUrl) });
    new CfnOutput(this, 'ApiUrl', { value: jobs.apiUrl, description: 'where the HTTP API answers' });
  }
}
