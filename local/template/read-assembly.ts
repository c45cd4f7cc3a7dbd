import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Template, TemplateError } from './template.ts';

export interface Assembly {
  stackName: string;
  template: Template;
  /** The folder that holds a function's code, by the `Code` property of the function (resolved or not: the key is a literal hash). */
  assetDirectory(functionCode: { S3Bucket?: unknown; S3Key?: unknown }): string;
}

interface Artifact {
  type: string;
  displayName?: string;
  dependencies?: string[];
  properties?: { templateFile?: string; stackName?: string; file?: string; directoryName?: string };
}

interface FoundStack {
  directory: string;
  stackName: string;
  /** Every spelling by which people know the stack. */
  names: string[];
  templateFile: string;
  assetFiles: string[];
}

/** Reads one stack of a synthesized cloud assembly. It parses the files itself: loading the CDK library for it would cost two seconds of every start. */
export function readAssembly(directory: string, stackName?: string): Assembly {
  const stack = chooseStack(findStacks(directory), directory, stackName);
  const assets = readAssets(stack);
  return {
    stackName: stack.stackName,
    template: readJson(join(stack.directory, stack.templateFile)) as Template,
    assetDirectory: ({ S3Key: key }) => {
      if (typeof key !== 'string') {
        throw new TemplateError(`function code of stack '${stack.stackName}' has no S3Key: only code from an asset directory runs locally`);
      }
      const path = assets.get(key);
      if (path === undefined) {
        throw new TemplateError(`asset '${key}' is not in the assembly ${stack.directory}: only code from a local directory runs locally`);
      }
      if (!existsSync(path)) throw new TemplateError(`asset '${key}' should be at ${path}, but nothing is there: synthesize again`);
      if (!statSync(path).isDirectory()) {
        throw new TemplateError(`asset '${key}' is the file ${path}: only code from a directory runs locally, so unpack the archive`);
      }
      return path;
    },
  };
}

/** All stacks of an assembly, those inside stages (nested assemblies) included. */
function findStacks(directory: string): FoundStack[] {
  const manifestFile = join(directory, 'manifest.json');
  if (!existsSync(manifestFile)) {
    throw new TemplateError(`no cloud assembly in ${directory}: ${manifestFile} does not exist; synthesize the app first`);
  }
  const { artifacts = {} } = readJson(manifestFile) as { artifacts?: Record<string, Artifact> };
  return Object.entries(artifacts).flatMap(([id, { type, displayName, dependencies = [], properties = {} }]) => {
    if (type === 'cdk:cloud-assembly' && properties.directoryName) return findStacks(join(directory, properties.directoryName));
    if (type !== 'aws:cloudformation:stack' || !properties.templateFile) return [];
    const stackName = properties.stackName ?? id;
    const assetFiles = dependencies.flatMap((dependency) => {
      const artifact = artifacts[dependency];
      return artifact?.type === 'cdk:asset-manifest' && artifact.properties?.file ? [artifact.properties.file] : [];
    });
    return [{ directory, stackName, names: [stackName, id, displayName ?? id], templateFile: properties.templateFile, assetFiles }];
  });
}

function chooseStack(stacks: FoundStack[], directory: string, wanted: string | undefined): FoundStack {
  const names = stacks.map((stack) => stack.stackName).join(', ') || 'none';
  const matching = wanted === undefined ? stacks : stacks.filter((stack) => stack.names.includes(wanted));
  const [only, ...others] = matching;
  if (only === undefined) {
    throw new TemplateError(
      wanted === undefined
        ? `the assembly ${directory} contains no stack: add one to the app`
        : `the assembly ${directory} has no stack '${wanted}': it has ${names}`,
    );
  }
  if (others.length > 0) throw new TemplateError(`the assembly ${directory} has several stacks (${names}): name the one to run`);
  return only;
}

function readAssets(stack: FoundStack): Map<string, string> {
  const assets = new Map<string, string>();
  for (const file of stack.assetFiles) {
    const { files = {} } = readJson(join(stack.directory, file)) as {
      files?: Record<string, { source: { path?: string }; destinations: Record<string, { objectKey: string }> }>;
    };
    for (const { source, destinations } of Object.values(files)) {
      if (source.path === undefined) continue;
      for (const { objectKey } of Object.values(destinations)) assets.set(objectKey, resolve(stack.directory, source.path));
    }
  }
  return assets;
}

function readJson(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TemplateError(`the assembly names ${file}, which cannot be read: synthesize again`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TemplateError(`${file} is not valid JSON: synthesize again`, { cause });
  }
}
