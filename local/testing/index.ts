export type { ExecutionState } from '../../shared/db/queries/execution-columns.ts';
export type { DeadLetterStatus } from '../../shared/db/queries/select-dead-letters.ts';
export type { DeadLetterDescription } from '../../shared/operations/describe-dead-letter.ts';
export type { ExecutionDescription, ExecutionDetail } from '../../shared/operations/describe-execution.ts';
export type { ManifestDescription, ManifestDetail } from '../../shared/operations/describe-manifest.ts';
export type { QueueEntryDescription } from '../../shared/operations/list-queue.ts';
export { createTestKit } from './create-test-kit.ts';
export type { ManifestReference, TestKit, TestKitOptions } from './test-kit.ts';
export type { Duration, Instant } from './virtual-clock.ts';
