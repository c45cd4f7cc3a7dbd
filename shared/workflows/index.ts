/**
 * Workflows for what needs no code. An app lists those that it uses (`workflows: [http, …]`): they act with the permissions of the pool that runs them, and whoever may start a run
 * of one decides what it does.
 */
export { http } from './http.ts';
export type { HttpInput } from './http-input.ts';
export { type LambdaInput, type LambdaOutput, lambda } from './lambda.ts';
export type { HttpOutput } from './read-answer.ts';
export type { SecretReference } from './secret-reference.ts';
export { type SqlInput, type SqlOutput, type SqlResult, type SqlStatement, sql } from './sql.ts';
