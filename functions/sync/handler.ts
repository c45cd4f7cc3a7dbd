import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import middy from '@middy/core';
import type { AppDefinition } from '../../shared/define/definition.ts';
import { syncApp } from '../../shared/define/sync.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/** Runs after the functions of a deployment changed: applies the definitions that synth wrote beside this bundle, then asks for a cycle. */
async function sync(_: unknown, { database, doorbell, log }: DatabaseContext & DoorbellContext) {
  const { hash, ...definition } = JSON.parse(readFileSync(join(import.meta.dirname, 'manifests.json'), 'utf8')) as AppDefinition & {
    hash: string;
  };
  const report = await syncApp(database, definition, hash);
  log.info('definitions applied', { app: definition.name, ...report });
  await doorbell.pokeManager();
  return report;
}

export const handler = middy(sync).use(withDoorbell('sync')).use(withDatabase());
