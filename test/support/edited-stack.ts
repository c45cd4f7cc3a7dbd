import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, onTestFinished } from 'vitest';
import type { Refusal } from '../../local/aws-endpoint/aws-call.ts';
import { type Cloud, startCloud } from '../../local/cloud/start-cloud.ts';
import { synthesize } from '../../local/dev/synthesize.ts';
import type { Problem } from '../../local/events/problem.ts';
import { startHttpApi } from '../../local/http-api/http-api.ts';
import { startEmbeddedSqs } from '../../local/sqs/embedded-sqs.ts';
import { readAssembly } from '../../local/template/read-assembly.ts';
import type { Template, TemplateResource } from '../../local/template/template.ts';
import { useTemporaryDirectory } from './temporary-directory.ts';

const templateFile = 'Waybill.template.json';
const identity = {
  accountId: '000000000000',
  userArn: 'arn:aws:iam::000000000000:user/local',
  userId: 'local',
  accessKey: 'LOCAL',
  callerId: 'local',
};

export type EditResources = (resources: Template['Resources']) => void;

/** The assembly of an app, synthesized for the calling file, whose tests boot edited copies of it. */
export function useAssembly(entry: string): { edited(name: string, edit: EditResources): string } {
  const temporary = useTemporaryDirectory();
  const assembly = () => join(temporary.path, 'assembly');
  beforeAll(
    () =>
      synthesize({
        entry,
        outputDirectory: assembly(),
        signal: new AbortController().signal,
        processes: { noteProcess: async () => {}, forgetProcess: () => {} },
      }),
    180_000,
  );
  return { edited: (name, edit) => editStack(assembly(), join(temporary.path, name), edit) };
}

/** Copies a synthesized assembly and changes the template in the copy, as a change in the stack would. */
export function editStack(assembly: string, copy: string, edit: EditResources): string {
  cpSync(assembly, copy, { recursive: true });
  const file = join(copy, templateFile);
  const template = JSON.parse(readFileSync(file, 'utf8')) as Template;
  edit(template.Resources);
  writeFileSync(file, JSON.stringify(template));
  return copy;
}

/** The one resource of a type whose construct path ends in this: `Jobs/Dispatcher/Function/Resource`. */
export function resourceAt(resources: Template['Resources'], type: string, path: string): TemplateResource & { logicalId: string } {
  const [found, ...others] = Object.entries(resources).filter(
    ([, resource]) => resource.Type === type && String(resource.Metadata?.['aws:cdk:path']).endsWith(path),
  );
  if (!found || others.length)
    throw new Error(`${others.length + (found ? 1 : 0)} resources of type ${type} have a path that ends in '${path}'`);
  // The very object, so that a test can change it.
  return Object.assign(found[1], { logicalId: found[0] });
}

/** Switches the heartbeat off, so that only what happens drives the stack. */
export function stopHeartbeat(resources: Template['Resources']): void {
  resourceAt(resources, 'AWS::Scheduler::Schedule', 'Heartbeat/Schedule').Properties!.State = 'DISABLED';
}

/** Everything that a stack told while it was brought up and while it ran. */
export interface Told {
  logs: string[];
  refusals: Refusal[];
  problems: Problem[];
  /** Of every function process that was started. */
  pids: number[];
}

/** Boots an assembly on a database of the test's, with queues that live as long as the test. Without `cloud`, it could not be brought up. */
export async function bootStack(assembly: string, databaseUrl: string): Promise<Told & { cloud?: Cloud; apiUrl: string; error?: Error }> {
  const told: Told = { logs: [], refusals: [], problems: [], pids: [] };
  const sqs = await startEmbeddedSqs();
  onTestFinished(() => sqs.close());
  const httpApi = await startHttpApi({ port: 0, apiId: 'local', stageName: '$default', routes: [], identity });
  onTestFinished(() => httpApi.close());
  const booting = startCloud({
    assembly: readAssembly(assembly),
    sqs,
    httpApi,
    databaseUrl,
    onLog: ({ text }) => told.logs.push(text),
    onProcess: ({ pid, event }) => void (event === 'started' && told.pids.push(pid)),
    onRefused: (refusal) => told.refusals.push(refusal),
    onProblem: (problem) => told.problems.push(problem),
  });
  try {
    const cloud = await booting;
    onTestFinished(() => cloud.stop());
    return { ...told, cloud, apiUrl: httpApi.url };
  } catch (error) {
    return { ...told, apiUrl: httpApi.url, error: error as Error };
  }
}
