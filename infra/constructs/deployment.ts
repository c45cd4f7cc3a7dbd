import { Duration } from 'aws-cdk-lib';
import { Trigger } from 'aws-cdk-lib/triggers';
import { Construct } from 'constructs';
import type { Process } from './process.ts';

export interface DeploymentProps {
  readonly migrate: Process;
  readonly sync: Process;
  /** What runs on the migrated schema: created and updated after migrate, before sync. */
  readonly processes: readonly Construct[];
}

/**
 * The order of a deployment: migrate, then the processes, then sync. Both ends run inside the deployment and fail it, so a stack whose schema or
 * definitions could not be applied rolls back. They run again when their code or environment changes; the definitions are a file of sync's
 * code, the migrations one of migrate's.
 *
 * Sync's function itself waits for nothing: one provider invokes both ends and must be allowed to invoke both, so a sync function that waited
 * for migrate to have run would be a circle. Only its trigger calls it, and that comes last.
 */
export class Deployment extends Construct {
  constructor(scope: Construct, id: string, { migrate, sync, processes }: DeploymentProps) {
    super(scope, id);
    const migration = new Trigger(this, 'Migration', { handler: migrate.function, timeout: timeoutOf(migrate) });
    migration.executeBefore(...processes);
    const synchronization = new Trigger(this, 'Synchronization', { handler: sync.function, timeout: timeoutOf(sync) });
    synchronization.executeAfter(migration, sync, ...processes);
  }
}

/** A trigger that gave up before its function did would roll back a migration that then succeeds. */
function timeoutOf(process: Process): Duration {
  return Duration.seconds((process.function.timeout?.toSeconds() ?? 900) + 10);
}
