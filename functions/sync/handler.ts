import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import middy from '@middy/core';
import type { AppDefinition } from '../../shared/define/definition.ts';
import { describeSync } from '../../shared/define/describe-sync.ts';
import { planSync, syncApp } from '../../shared/define/sync.ts';
import { findStartedDeployment } from '../../shared/define/sync-deployment.ts';
import { type DatabaseContext, withDatabase } from '../middleware/database.ts';
import { type DoorbellContext, withDoorbell } from '../middleware/doorbell.ts';

/** A deployment is begun by migrate, before any function changes. Whoever replaces the definitions without one says so, and begins one here. */
interface SyncEvent {
  startsDeployment?: boolean;
  /** Says what would change, and changes nothing. */
  dryRun?: boolean;
}

/**
 * Runs after the functions of a deployment changed: applies the definitions that synth wrote beside this bundle, then asks for a cycle. Killed between the commit and the
 * poke, the manager's next cycle finds what is due; invoked again, it finds nothing left to change.
 */
async function sync(event: SyncEvent | null, { database, doorbell, log }: DatabaseContext & DoorbellContext) {
  const { hash, ...definition } = JSON.parse(readFileSync(join(import.meta.dirname, 'manifests.json'), 'utf8')) as AppDefinition & {
    hash: string;
  };
  if (event?.dryRun) {
    const planned = await planSync(database, definition);
    log.info('definitions planned', { app: definition.name, plan: describeSync(planned) });
    return planned;
  }
  const deploymentVersion = event?.startsDeployment ? undefined : await findStartedDeployment(database, definition.name, hash);
  const report = await syncApp(database, definition, hash, { deploymentVersion });
  if (report.outcome === 'superseded')
    log.warn('a deployment that began later has been applied, nothing was changed', { app: definition.name, ...report });
  else log.info('definitions applied', { app: definition.name, deploymentVersion: report.deploymentVersion, plan: describeSync(report) });
  await doorbell.pokeManager();
  return report;
}

export const handler = middy(sync).use(withDoorbell('sync')).use(withDatabase());
