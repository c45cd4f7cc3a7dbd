import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ExecutionDetail } from '../../shared/operations/describe-execution.ts';
import { askApi, listExecutions } from '../support/ask-api.ts';
import { useEmptyDatabase } from '../support/database.ts';
import { bootStack, resourceAt, stopHeartbeat, useAssembly } from '../support/edited-stack.ts';
import { useTemporaryDirectory } from '../support/temporary-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const temporary = useTemporaryDirectory();
const assembly = useAssembly(join(import.meta.dirname, 'apps/steps.ts'));
const LEASE_SECONDS = 3;

async function ask(apiUrl: string, path: string): Promise<void> {
  const response = await fetch(new URL(path, apiUrl), { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}

interface Effect {
  effect: 'began' | 'ended';
  step: string;
  manifest: string;
  pid: number;
}

describe('a workflow of forty seconds in a function that ends after eight', () => {
  const database = useEmptyDatabase();

  test('runs each step once, and goes on after five kill -9 from the steps that were completed', { timeout: 240_000 }, async () => {
    const ledger = join(temporary.path, 'ledger');
    const stack = assembly.edited('short', (resources) => {
      const { Properties: executor } = resourceAt(resources, 'AWS::Lambda::Function', 'Executor/Function/Resource');
      executor!.Timeout = 8;
      Object.assign((executor!.Environment as { Variables: object }).Variables, {
        LEDGER: ledger,
        WAYBILL_LEASE_SECONDS: String(LEASE_SECONDS),
      });
    });
    const booted = await bootStack(stack, database.url);
    const describeLogs = () => booted.logs.slice(-60).join('\n');
    const effectsOf = (manifest: string) =>
      (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n') : [])
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Effect)
        .filter((effect) => effect.manifest === manifest);
    // It keeps the manager looking every second, so that a killed function is found when its lease is over.
    await ask(booted.apiUrl, '/v1/manifests/tick/enable');
    for (const id of ['undisturbed', 'killed']) await ask(booted.apiUrl, `/v1/manifests/${id}/trigger`);

    const victims: number[] = [];
    for (const completed of [3, 10, 17, 24, 31]) {
      const { pid } = await waitFor(
        `a step in progress after ${completed} completed ones`,
        () => {
          const effects = effectsOf('killed');
          const last = effects.at(-1);
          const ended = new Set(effects.filter(({ effect }) => effect === 'ended').map(({ step }) => step));
          return ended.size >= completed && last?.effect === 'began' && !victims.includes(last.pid) && last;
        },
        { seconds: 60, describe: describeLogs },
      );
      process.kill(pid, 'SIGKILL');
      victims.push(pid);
    }
    const ended = (manifest: string) =>
      waitFor(
        `the end of ${manifest}`,
        async () => (await listExecutions(booted.apiUrl, `manifest=${manifest}`)).find(({ state }) => state === 'completed'),
        { seconds: 90, describe: describeLogs },
      );

    const steps = Array.from({ length: 40 }, (_, index) => `step-${index + 1}`);
    const undisturbed = await ended('undisturbed');
    expect(undisturbed).toMatchObject({ attempt: 1 });
    expect(effectsOf('undisturbed').map(({ effect, step }) => [effect, step])).toEqual(
      steps.flatMap((step) => [
        ['began', step],
        ['ended', step],
      ]),
    );
    const { steps: recorded } = await askApi<ExecutionDetail>(booted.apiUrl, `/v1/executions/${undisturbed.id}`);
    expect(recorded.map(({ name, state }) => [name, state])).toEqual(steps.map((step) => [step, 'completed']));

    expect(await ended('killed')).toMatchObject({ attempt: 6 });
    const attempts = await listExecutions(booted.apiUrl, 'manifest=killed');
    expect(attempts.map(({ attempt, failure }) => [attempt, failure?.code])).toEqual(
      [6, 5, 4, 3, 2, 1].map((attempt) => [attempt, attempt === 6 ? undefined : 'lease_lost']),
    );
    const killed = effectsOf('killed');
    expect(killed.filter(({ effect }) => effect === 'ended').map(({ step }) => step)).toEqual(steps);
    expect(killed.filter(({ effect }) => effect === 'began')).toHaveLength(45);
    expect(booted.refusals).toEqual([]);
  });
});

describe('a workflow that sleeps, with the heartbeat switched off', () => {
  const database = useEmptyDatabase();

  test('waits without a function, and a delayed wake brings it back', { timeout: 90_000 }, async () => {
    const booted = await bootStack(assembly.edited('quiet', stopHeartbeat), database.url);
    await ask(booted.apiUrl, '/v1/manifests/resting/trigger');
    const look = async (state: string) => (await listExecutions(booted.apiUrl, `manifest=resting&state=${state}`))[0];
    await waitFor('the run to sleep', () => look('waiting'), { seconds: 30, describe: () => booted.logs.join('\n') });
    expect(await look('in_progress')).toBeUndefined();
    const { output } = await waitFor('the run to end', () => look('completed'), { seconds: 30, describe: () => booted.logs.join('\n') });
    expect((output as { restedMs: number }).restedMs).toBeGreaterThanOrEqual(4_000);
    expect(booted.problems).toEqual([]);
    expect(booted.refusals).toEqual([]);
  });
});
