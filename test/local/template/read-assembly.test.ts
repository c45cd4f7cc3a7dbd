// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how CloudFormation and IAM write placeholders
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAssembly } from '../../../local/template/read-assembly.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'assembly-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (file: string, content: unknown) => writeFileSync(join(directory, file), JSON.stringify(content));

/** The files that `cdk synth` writes, with one function asset in each stack. */
function writeAssembly(...stacks: string[]): void {
  const artifacts: Record<string, unknown> = { Tree: { type: 'cdk:tree', properties: { file: 'tree.json' } } };
  for (const stack of stacks) {
    artifacts[`${stack}.assets`] = { type: 'cdk:asset-manifest', properties: { file: `${stack}.assets.json` } };
    artifacts[stack] = {
      type: 'aws:cloudformation:stack',
      properties: { templateFile: `${stack}.template.json`, stackName: `${stack}-deployed` },
      dependencies: [`${stack}.assets`],
      displayName: `Path/${stack}`,
    };
    write(`${stack}.template.json`, { Resources: { Only: { Type: `In::${stack}` } } });
    write(`${stack}.assets.json`, {
      files: {
        abc: {
          source: { path: 'asset.abc', packaging: 'zip' },
          destinations: { here: { bucketName: 'b-${AWS::Region}', objectKey: 'abc.zip' } },
        },
        def: { source: { path: 'code.zip', packaging: 'file' }, destinations: { here: { bucketName: 'b', objectKey: 'def.zip' } } },
      },
    });
  }
  write('manifest.json', { version: '1', artifacts });
}

describe('a cloud assembly', () => {
  it('is read with its only stack and the directories of its assets', () => {
    writeAssembly('One');
    mkdirSync(join(directory, 'asset.abc'));
    const assembly = readAssembly(directory);
    expect(assembly.stackName).toBe('One-deployed');
    expect(assembly.template.Resources).toEqual({ Only: { Type: 'In::One' } });
    expect(assembly.assetDirectory({ S3Bucket: { 'Fn::Sub': 'b-${AWS::Region}' }, S3Key: 'abc.zip' })).toBe(join(directory, 'asset.abc'));
  });

  it('with several stacks answers the one that is named, by any of its names', () => {
    writeAssembly('One', 'Two');
    for (const name of ['Two', 'Two-deployed', 'Path/Two']) expect(readAssembly(directory, name).stackName).toBe('Two-deployed');
  });

  it('is searched through its stages', () => {
    mkdirSync(join(directory, 'assembly-Live'));
    write('manifest.json', {
      artifacts: { 'assembly-Live': { type: 'cdk:cloud-assembly', properties: { directoryName: 'assembly-Live' } } },
    });
    write('assembly-Live/manifest.json', {
      artifacts: { S: { type: 'aws:cloudformation:stack', properties: { templateFile: 'S.template.json' } } },
    });
    write('assembly-Live/S.template.json', { Resources: {} });
    expect(readAssembly(directory)).toMatchObject({ stackName: 'S', template: { Resources: {} } });
  });

  it('that does not exist is refused with what to do', () => {
    expect(() => readAssembly(join(directory, 'nowhere'))).toThrow(/no cloud assembly in .*nowhere.*synthesize the app first/);
  });

  it('with several stacks, none named, is refused with their names', () => {
    writeAssembly('One', 'Two');
    expect(() => readAssembly(directory)).toThrow(/several stacks \(One-deployed, Two-deployed\): name the one to run/);
  });

  it('without the named stack is refused with those it has', () => {
    writeAssembly('One');
    expect(() => readAssembly(directory, 'Three')).toThrow(/has no stack 'Three': it has One-deployed/);
    write('manifest.json', { artifacts: {} });
    expect(() => readAssembly(directory)).toThrow(/contains no stack/);
  });

  it('whose files are damaged is refused with the file', () => {
    writeAssembly('One');
    writeFileSync(join(directory, 'One.template.json'), '{');
    expect(() => readAssembly(directory)).toThrow(/One\.template\.json is not valid JSON/);
    rmSync(join(directory, 'One.assets.json'));
    expect(() => readAssembly(directory)).toThrow(/One\.assets\.json, which cannot be read/);
  });

  it('refuses code that is not a directory in it', () => {
    writeAssembly('One');
    const { assetDirectory } = readAssembly(directory);
    expect(() => assetDirectory({ S3Key: 'xyz.zip' })).toThrow(/asset 'xyz\.zip' is not in the assembly/);
    expect(() => assetDirectory({ S3Key: 'abc.zip' })).toThrow(/asset 'abc\.zip' should be at .*asset\.abc, but nothing is there/);
    expect(() => assetDirectory({})).toThrow(/has no S3Key/);
    writeFileSync(join(directory, 'code.zip'), '');
    expect(() => assetDirectory({ S3Key: 'def.zip' })).toThrow(/asset 'def\.zip' is the file/);
  });
});
