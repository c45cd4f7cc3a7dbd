import { lookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { NonRetryableError } from '../errors.ts';

/** Where a machine tells its own credentials to whoever asks. */
const linkLocal = new BlockList();
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
linkLocal.addSubnet('fe80::', 10, 'ipv6');
linkLocal.addAddress('fd00:ec2::254', 'ipv6');

const ownMachine = new BlockList();
ownMachine.addSubnet('127.0.0.0', 8, 'ipv4');
ownMachine.addSubnet('0.0.0.0', 8, 'ipv4');
ownMachine.addAddress('::1', 'ipv6');
ownMachine.addAddress('::', 'ipv6');

/**
 * Refuses what no job has business with, also when a name or a redirect of somebody else's leads there: addresses at which credentials are handed out, and the function's own
 * Runtime API, where an invocation could be taken away.
 */
export function checkAddress(address: string, port: string): void {
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const [, runtimePort] = (process.env.AWS_LAMBDA_RUNTIME_API ?? '').split(/[:/]/);
  if (!linkLocal.check(address, family) && !(port === runtimePort && ownMachine.check(address, family))) return;
  throw new NonRetryableError(`address ${address}:${port} is the machine's own and is not called`);
}

/** For a URL that names an address; one with a host name is checked when the name is resolved. */
export function checkHost({ hostname, port, protocol }: URL): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address)) checkAddress(address, portOf({ port, protocol }));
}

/** Resolves a name as Node does, and refuses it if any of its addresses is. */
export function lookupFor(url: URL): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, found, family) => {
      if (error) return callback(error, found, family);
      try {
        for (const one of [found].flat()) checkAddress(typeof one === 'string' ? one : one.address, portOf(url));
      } catch (refused) {
        return callback(refused as Error, found, family);
      }
      callback(null, found, family);
    });
}

function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): string {
  return port || (protocol === 'https:' ? '443' : '80');
}
