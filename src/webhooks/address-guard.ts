import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { BlockList, isIP } from "node:net";

/** Whether an IP address is one of the public internet, and not of this machine, a private network or a special use. */
export function isPublicAddress(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  const plain = mapped ?? address;
  const version = isIP(plain);
  if (version === 4) return !SPECIAL.check(plain, "ipv4");
  return version === 6 && GLOBAL_6.check(plain, "ipv6") && !SPECIAL_6.check(plain, "ipv6");
}

/**
 * Looks up a host name for a connection, which is then made to the address that was checked: a name that resolves to another
 * address a moment later (DNS rebinding) gains nothing.
 */
export const lookupPublic: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) {
      done(error, "", 0);
      return;
    }
    const refused = addresses.find(({ address }) => !isPublicAddress(address));
    const [first] = addresses;
    if (first === undefined || refused !== undefined) {
      done(new PrivateAddress(hostname), "", 0);
      return;
    }
    if (options.all === true) done(null, addresses);
    else done(null, first.address, first.family);
  });
};

/** A host has an address that no webhook may be sent to. */
export class PrivateAddress extends Error {
  override readonly name = "PrivateAddress";

  constructor(host: string) {
    super(`${host} has an address that is not public`);
  }
}

/** Of the registries of special-purpose addresses (RFC 6890). */
const SPECIAL = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  SPECIAL.addSubnet(network, bits, "ipv4");

/** The public addresses of IPv6, in lists of their own: a list compares an address of IPv4 with its networks as a mapped one. */
const GLOBAL_6 = new BlockList();
GLOBAL_6.addSubnet("2000::", 3, "ipv6");

/** Those of them with a special use. */
const SPECIAL_6 = new BlockList();
for (const [network, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const)
  SPECIAL_6.addSubnet(network, bits, "ipv6");
