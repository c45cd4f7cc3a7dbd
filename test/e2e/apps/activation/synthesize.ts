import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { bundleFunction } from '../../../../infra/bundle/bundle-function.ts';
import { Waybill, WaybillDatabase } from '../../../../infra/index.ts';

/** A user's stack: his own function beside the jobs, each allowed to invoke the other's way in. Nothing ticks in it. */
export function synthesizeStack(outputDirectory: string, releaseFile: string): void {
  const app = new App({
    outdir: outputDirectory,
    context: { 'aws:cdk:enable-path-metadata': true },
    builtinCloudFormationValidation: false,
  });
  const stack = new Stack(app, 'Waybill');
  const bundle = bundleFunction({
    name: 'surveyor',
    entry: join(import.meta.dirname, 'surveyor.ts'),
    outputDirectory: join(outputDirectory, 'surveyor'),
  });
  const surveyor = new LambdaFunction(stack, 'Surveyor', {
    code: Code.fromAsset(bundle.directory),
    handler: 'index.handler',
    runtime: Runtime.NODEJS_24_X,
  });
  const jobs = new Waybill(stack, 'Jobs', {
    app: join(import.meta.dirname, 'app.ts'),
    database: WaybillDatabase.fromUrlSecret(Secret.fromSecretNameV2(stack, 'DatabaseUrl', 'team/database-url')),
    pools: { default: { environment: { SURVEYOR: surveyor.functionName, RELEASE_FILE: releaseFile } } },
  });
  surveyor.grantInvoke(jobs.pool('default'));
  surveyor.addEnvironment('ACTIVATOR', jobs.activatorFunctionName);
  jobs.grantActivate(surveyor);
  for (const construct of jobs.node.findAll()) if (construct instanceof CfnSchedule) construct.state = 'DISABLED';
  app.synth();
}
