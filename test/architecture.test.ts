import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Import, readImports } from './support/read-imports.ts';

const root = join(import.meta.dirname, '..');
const imports = readImports(root, ['cli', 'examples', 'functions', 'infra', 'local', 'shared', 'test']);

const isIn = (path: string, ...folders: string[]) => folders.some((folder) => path.startsWith(`${folder}/`));
const isOf = (name: string, specifier: string) => specifier === name || specifier.startsWith(`${name}/`);
const SUBSYSTEMS = ['manager', 'dispatcher', 'executor', 'dormant', 'plans', 'operations', 'housekeeping', 'define'];
/** The subsystem that a file of `shared` belongs to. */
const subsystemOf = (path: string) => SUBSYSTEMS.find((name) => isIn(path, `shared/${name}`));
/** The folder of `functions` that a file belongs to. */
const functionOf = (path: string) => path.split('/')[1];

interface Rule {
  rule: string;
  isBroken(one: Import): boolean;
  /** Imports that would break it. */
  planted: [from: string, to: string][];
}

const rules: Rule[] = [
  {
    rule: 'only shared/db and the embedded server know pg',
    isBroken: ({ from, to }) => isOf('pg', to) && !isIn(from, 'shared/db', 'local/postgres', 'test'),
    planted: [
      ['shared/manager/cycle.ts', 'pg'],
      ['functions/api/handler.ts', 'pg/lib/type-overrides'],
    ],
  },
  {
    rule: 'only the queue, the clients, the middleware and the local cloud know the AWS SDK',
    isBroken: ({ from, to }) =>
      to.startsWith('@aws-sdk/') &&
      !isIn(from, 'shared/queue', 'shared/client', 'shared/workflows', 'functions/middleware', 'local', 'test'),
    planted: [
      ['shared/dispatcher/cycle.ts', '@aws-sdk/client-sqs'],
      ['functions/api/handler.ts', '@aws-sdk/client-s3'],
    ],
  },
  {
    rule: 'only shared/time knows cron-parser',
    isBroken: ({ from, to }) => isOf('cron-parser', to) && !isIn(from, 'shared/time', 'test'),
    planted: [['shared/define/schedules.ts', 'cron-parser']],
  },
  {
    rule: 'subsystems of shared meet in the database, never in each other',
    isBroken: ({ from, to }) => subsystemOf(from) !== undefined && subsystemOf(to) !== undefined && subsystemOf(from) !== subsystemOf(to),
    planted: [
      ['shared/manager/cycle.ts', 'shared/dispatcher/cycle.ts'],
      ['shared/operations/trigger.ts', 'shared/define/sync.ts'],
    ],
  },
  {
    rule: 'what several subsystems share does not know any of them; only the ways in from outside know several',
    isBroken: ({ from, to }) =>
      isIn(from, 'shared') &&
      from !== 'shared/index.ts' &&
      !isIn(from, 'shared/client') &&
      !subsystemOf(from) &&
      subsystemOf(to) !== undefined,
    planted: [
      ['shared/transitions/end-runs.ts', 'shared/executor/run.ts'],
      ['shared/db/database.ts', 'shared/manager/cycle.ts'],
    ],
  },
  {
    rule: 'nothing in shared knows the client, which is for programs of others',
    isBroken: ({ from, to }) => isIn(from, 'shared') && !isIn(from, 'shared/client') && isIn(to, 'shared/client'),
    planted: [['shared/executor/context.ts', 'shared/client/client.ts']],
  },
  {
    rule: 'transitions know the database, the model, the time, settings and errors, and of queues only their types',
    isBroken: ({ from, to, isType, isPackage }) =>
      isIn(from, 'shared/transitions') &&
      !(isPackage && to.startsWith('node:')) &&
      !isIn(to, 'shared/transitions', 'shared/db', 'shared/model', 'shared/time') &&
      !['shared/settings.ts', 'shared/errors.ts'].includes(to) &&
      !(isType && isIn(to, 'shared/queue')),
    planted: [
      ['shared/transitions/mark-due.ts', 'shared/queue/sqs-doorbell.ts'],
      ['shared/transitions/mark-due.ts', 'zod'],
    ],
  },
  {
    rule: 'the model and the time know nothing of the database or of queues',
    isBroken: ({ from, to }) => isIn(from, 'shared/model', 'shared/time') && isIn(to, 'shared/db', 'shared/queue', 'shared/transitions'),
    planted: [['shared/model/manifest.ts', 'shared/db/database.ts']],
  },
  {
    rule: 'shared knows nothing of what invokes, deploys or shows it',
    isBroken: ({ from, to }) => isIn(from, 'shared') && isIn(to, 'functions', 'infra', 'local', 'cli', 'dashboard', 'examples', 'test'),
    planted: [
      ['shared/manager/cycle.ts', 'functions/manager/handler.ts'],
      ['shared/settings.ts', 'infra/constructs/pool-settings.ts'],
    ],
  },
  {
    rule: 'functions know shared, their middleware and their own folder, and never each other',
    isBroken: ({ from, to, isPackage }) =>
      isIn(from, 'functions') &&
      !isPackage &&
      !isIn(to, 'shared', 'functions/middleware', `functions/${functionOf(from)}`) &&
      to !== 'package.json',
    planted: [
      ['functions/manager/handler.ts', 'functions/dispatcher/handler.ts'],
      ['functions/api/handler.ts', 'local/http-api/http-api.ts'],
    ],
  },
  {
    rule: 'infra never runs at run time: only the command line and the local cloud’s build step reach for it',
    isBroken: ({ from, to }) => isIn(to, 'infra') && !isIn(from, 'infra', 'local/dev', 'cli', 'test'),
    planted: [
      ['functions/sync/handler.ts', 'infra/bundle/load-app.ts'],
      ['local/cloud/start-cloud.ts', 'infra/index.ts'],
    ],
  },
  {
    rule: 'only infra, and apps that deploy it, know the CDK',
    isBroken: ({ from, to }) => (isOf('aws-cdk-lib', to) || isOf('constructs', to)) && !isIn(from, 'infra', 'test', 'examples'),
    planted: [['shared/index.ts', 'aws-cdk-lib/aws-sqs']],
  },
  {
    rule: 'nothing but tests knows the tests',
    isBroken: ({ from, to }) => isIn(to, 'test') && !isIn(from, 'test'),
    planted: [['local/dev/start-dev.ts', 'test/support/engine.ts']],
  },
];

const broken = (graph: Import[], { isBroken }: Rule) => graph.filter(isBroken).map(({ from, to }) => `${from} → ${to}`);
const plant = ([from, to]: [string, string], isType = false): Import => ({ from, to, isPackage: !to.includes('.ts'), isType });

describe.each(rules)('$rule', (rule) => {
  it('holds', () => {
    expect(broken(imports, rule)).toEqual([]);
  });

  it.each(rule.planted)('would be broken by %s importing %s', (from, to) => {
    expect(broken([...imports, plant([from, to])], rule)).toEqual([`${from} → ${to}`]);
  });
});

it('transitions may name the types of a queue', () => {
  const rule = rules.find(({ planted }) => planted[0]?.[1] === 'shared/queue/sqs-doorbell.ts')!;
  expect(broken([plant(['shared/transitions/mark-due.ts', 'shared/queue/doorbell.ts'], true)], rule)).toEqual([]);
});

describe('imports that run', () => {
  it('make no circle', () => {
    expect(findCircle(imports)).toEqual([]);
  });

  it('would be a circle if one came back to where it began, in however many steps', () => {
    const circle: [string, string][] = [
      ['a.ts', 'b.ts'],
      ['b.ts', 'c.ts'],
      ['c.ts', 'a.ts'],
    ];
    expect(findCircle(circle.map((edge) => plant(edge)))).toEqual(['a.ts', 'b.ts', 'c.ts', 'a.ts']);
    expect(findCircle(circle.map((edge, index) => plant(edge, index === 2)))).toEqual([]);
  });
});

it('every import of a file leads to a file', () => {
  // Tests hold sources of files that they write.
  const missing = imports.filter(({ from, to, isPackage }) => !isPackage && !isIn(from, 'test') && !existsSync(join(root, to)));
  expect(missing.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

it('the imports of this repository were found', () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(imports).toContainEqual({ from: 'shared/db/database.ts', to: 'pg', isPackage: true, isType: false });
  expect(imports).toContainEqual({ from: 'shared/db/database.ts', to: 'shared/time/clock.ts', isPackage: false, isType: true });
});

/** The files of a circle of imports, beginning and ending with the same one; empty if there is none. */
function findCircle(graph: Import[]): string[] {
  const next = Map.groupBy(
    graph.filter(({ isType, isPackage }) => !isType && !isPackage),
    ({ from }) => from,
  );
  const done = new Set<string>();
  function walk(file: string, path: string[]): string[] {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const { to } of next.get(file) ?? []) {
      const circle = walk(to, [...path, file]);
      if (circle.length) return circle;
    }
    done.add(file);
    return [];
  }
  for (const file of next.keys()) {
    const circle = walk(file, []);
    if (circle.length) return circle;
  }
  return [];
}
