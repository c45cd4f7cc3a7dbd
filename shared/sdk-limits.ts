/**
 * How long a client of the AWS SDK waits for an answer. Without `throwOnRequestTimeout` it only logs that the time is over and goes on waiting, as long as the function lives.
 *
 * A request is tried twice: the second one finds a connection that was dropped while the function was frozen replaced by another. A service that does not answer either of them is away, and
 * whoever waits has a way to go on without it; a third try would cost him half as much time again.
 */
export function sdkLimits(requestTimeout: number) {
  return { maxAttempts: 2, requestHandler: { connectionTimeout: 2_000, requestTimeout, throwOnRequestTimeout: true } };
}
