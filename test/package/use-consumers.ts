import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll } from 'vitest';
import { packageRoot } from '../../infra/bundle/package-root.ts';
import { writeTree } from '../infra/write-tree.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { cdkInitProject, legacyMailer, moduleProject } from './consumer-projects.ts';
import { usePackage } from './use-package.ts';

const { devDependencies } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
const pinned = (name: string) => `${name}@${devDependencies[name]}`;

export interface Consumers {
  /** Made by `cdk init app --language typescript`: CommonJS, run by tsx. */
  readonly cdkInit: string;
  /** ES modules, run by Node. */
  readonly modules: string;
  /** Where the package was installed, by npm. */
  readonly installed: string;
  /** Runs a command in a project; its own packages and the system are all that it can reach. */
  run(project: string, command: string, args: readonly string[], environment?: Record<string, string>): Promise<string>;
}

/**
 * Two projects far from the clone that share one `npm install` of the packed archive, with the packages of a CDK project beside it. The install
 * is the real one, from the registry that npm is configured with; it takes about twenty seconds, most of it for writing the CDK to disk.
 */
export function useConsumers(): Consumers {
  const built = usePackage();
  const temporary = useTemporaryDirectory();
  const at = (name: string) => join(temporary.path, name);

  beforeAll(async () => {
    writeTree(temporary.path, { 'package.json': '{ "name": "projects", "private": true }' });
    const beside = [...['aws-cdk-lib', 'constructs', 'typescript', 'zod', '@types/node'].map(pinned), 'tsx@4', '@types/jest@30'];
    const options = ['--prefix', temporary.path, '--prefer-offline', '--no-audit', '--no-fund'];
    await run(temporary.path, 'npm', ['install', built.current.archive, ...beside, ...options]);
    writeTree(at('node_modules/legacy-mailer'), legacyMailer);
    mkdirSync(at('shop'));
    await run(at('shop'), cdk, ['init', 'app', '--language', 'typescript', '--generate-only']);
    writeTree(at('shop'), cdkInitProject);
    writeTree(at('modules'), moduleProject);
    for (const project of ['shop', 'modules']) symlinkSync('../node_modules', join(at(project), 'node_modules'));
  }, 300_000);

  async function run(project: string, command: string, args: readonly string[], environment: Record<string, string> = {}) {
    const { NODE_OPTIONS: _, NODE_PATH: __, PATH = '', ...inherited } = process.env;
    const path = [at('node_modules/.bin'), ...PATH.split(delimiter).filter((entry) => !entry.startsWith(packageRoot))].join(delimiter);
    try {
      const env = { ...inherited, PATH: path, NO_COLOR: '1', ...environment };
      const { stdout } = await promisify(execFile)(command, args, { cwd: project, env, maxBuffer: 64 * 1024 * 1024 });
      return stdout;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
    }
  }

  return {
    get cdkInit() {
      return at('shop');
    },
    get modules() {
      return at('modules');
    },
    get installed() {
      return at('node_modules/waybill');
    },
    run,
  };
}

/** The CDK's command line is a tool, not a part of what is tested: the clone's serves. */
export const cdk = join(packageRoot, 'node_modules/.bin/cdk');
