import { expect, it } from 'vitest';
import { findWorkflowMistakes, isWorkflowName } from '../../shared/define/find-workflow-mistakes.ts';
import { workflowNamed } from '../support/engine.ts';

it.each(['extract', 'a.b:c-D_1', 'waybill/http', 'waybill/s3-copy'])('a workflow may be called %s', (name) => {
  expect(isWorkflowName(name)).toBe(true);
  expect(findWorkflowMistakes([workflowNamed(name)])).toEqual([]);
});

it.each([
  '',
  'a/b',
  '/http',
  'waybill/',
  'waybill//http',
  'waybill/a/b',
  'waybill/HTTP',
  'Waybill/http',
  'not a name',
  'waybill/http\n',
  7,
  undefined,
])('a workflow must not be called %j', (name) => {
  expect(isWorkflowName(name)).toBe(false);
});
