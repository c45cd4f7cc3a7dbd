import { WaybillError } from '../../shared/errors.ts';

export type BundleErrorCode =
  | 'entry_missing'
  | 'bundle_failed'
  | 'not_compiled'
  | 'app_not_loadable'
  | 'not_an_app'
  | 'app_timeout'
  | 'invalid_app'
  | 'invalid_stack';

/**
 * A mistake that the author of an app or of a stack can mend. Its message is complete on its own: whoever shows it leaves out the stack trace,
 * which would name only the bundler's own lines.
 */
export class BundleError extends WaybillError {
  constructor(code: BundleErrorCode, message: string, cause?: unknown) {
    super(code, message, { cause });
  }
}
