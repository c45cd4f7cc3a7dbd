export { type App, type AppOptions, app } from './define/app.ts';
export type { AppDefinition, BackoffDefinition, GroupDefinition, ManifestDefinition, ScheduleDefinition } from './define/definition.ts';
export { InvalidAppError } from './define/find-mistakes.ts';
export type { DependentOptions, GroupOption, ManifestOptions, Scheduler, TimedOptions } from './define/scheduler.ts';
export { cron, every, type IntervalOptions } from './define/schedules.ts';
export { workflow } from './define/workflow.ts';
export { NonRetryableError, WaybillError } from './errors.ts';
export type { Workflow, WorkflowContext, WorkflowOptions } from './model/workflow.ts';
export type { Exclusion, Weekday } from './time/exclusion.ts';
