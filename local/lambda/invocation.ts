/** What became of one invocation, as the Lambda service would tell its caller. */
export type InvocationResult =
  | { status: 'succeeded'; payload: unknown }
  | { status: 'failed'; error: FunctionError }
  /** Every process of the function is busy; the caller decides whether to try again. */
  | { status: 'throttled' };

/** The error object that Lambda hands to the caller: thrown by the handler, or made by the service (timeout, exit, failed init). */
export interface FunctionError {
  errorType: string;
  errorMessage: string;
  stackTrace?: string[];
}

/** Invokes one function with an event, as a caller that has already been authorized. */
export type Invoke = (event: unknown) => Promise<InvocationResult>;
