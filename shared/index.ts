export { type App, type AppOptions, app } from './define/app.ts';
export type {
  AppDefinition,
  BackoffDefinition,
  GroupDefinition,
  ManifestDefinition,
  PlanStepDefinition,
  ScheduleDefinition,
  TimedSchedule,
} from './define/definition.ts';
export { InvalidAppError } from './define/find-mistakes.ts';
export { handle } from './define/handle.ts';
export type {
  DependentBatchOptions,
  DependentItem,
  DependentOptions,
  DependentPlanOptions,
  GroupOption,
  ManifestOptions,
  OncePlanOptions,
  ParentReference,
  PlanStepOptions,
  ThenDependentItem,
  TimedItem,
  TimedOptions,
  TimedPlanOptions,
} from './define/options.ts';
export type { Plan, PlanGroup } from './define/plan.ts';
export type { Scheduler } from './define/scheduler.ts';
export { cron, every, type IntervalOptions } from './define/schedules.ts';
export { workflow } from './define/workflow.ts';
export { NonRetryableError, StepFailedError, StepTimeoutError, WaybillError } from './errors.ts';
export {
  type Activation,
  type ActivationResult,
  type ActivationSkipReason,
  type Capability,
  type Dormant,
  InvalidActivationError,
} from './model/dormant.ts';
export type { Jsonify } from './model/jsonify.ts';
export type { InputOf, ManifestHandle } from './model/manifest-handle.ts';
export type { SleepDuration, StepContext, StepOptions, Workflow, WorkflowContext, WorkflowOptions } from './model/workflow.ts';
export { type Exclusion, exclude, type Weekday } from './time/exclusion.ts';
