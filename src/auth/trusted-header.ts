import { BlockList, isIP } from "node:net";
import { AgentError } from "../errors.ts";
import { isOwner } from "../ports/principal.ts";
import type { Authenticate } from "../ports/principal.ts";

/** The headers of a proxy that has signed people in. */
export interface TrustedHeaderOptions {
  /** The header with the id of the user, for example `x-forwarded-user`. */
  readonly user: string;
  /** The addresses of the proxies, or their networks: `10.1.2.3`, `10.0.0.0/8`, `::1`. */
  readonly from: readonly string[];
  /** The header with a name to show, for example `x-forwarded-preferred-username`. Default: none. */
  readonly name?: string;
  /** The header with the groups of the user, separated by commas. Default: none. */
  readonly groups?: string;
  /** The roles that groups give, by group, whose name may have commas. Every user has the role `user`. Default: none. */
  readonly roles?: Readonly<Record<string, string>>;
  /** The header with the owner. Default: everyone belongs to `default`. */
  readonly owner?: string;
}

/**
 * Believes the headers of a proxy such as oauth2-proxy or Cloudflare Access, but only in requests whose connection comes from
 * the address of a proxy. The headers of others are ignored.
 */
export function trustedHeader(options: TrustedHeaderOptions): Authenticate {
  const { user, name, groups, owner, roles = {} } = options;
  const proxies = toAddresses(options.from);
  for (const header of [user, name, groups, owner]) checkHeader(header);

  return (request, source) => {
    const id = textOf(request, user);
    if (id === undefined || !includes(proxies, source.address)) return undefined;
    const found = owner === undefined ? "default" : textOf(request, owner);
    if (!isOwner(found)) return undefined;
    const shown = name === undefined ? undefined : textOf(request, name);
    const given = groups === undefined ? "" : (request.headers.get(groups) ?? "");
    const more = rolesOf(given, roles);
    return {
      id,
      owner: found,
      roles: [...new Set(["user", ...more])],
      ...(shown !== undefined && { name: shown }),
    };
  };
}

/**
 * The roles of a list of groups with commas between them. The proxy does not mark commas within a name, such as that of a directory
 * (`cn=finance,ou=staff`): a name that `roles` has with commas is looked for first, and what belongs to it is no group of its own.
 */
function rolesOf(given: string, roles: Readonly<Record<string, string>>): readonly string[] {
  const toParts = (text: string): readonly string[] => text.split(",").map((part) => part.trim());
  const names = Object.keys(roles)
    .map((name) => ({ name, parts: toParts(name) }))
    .sort((a, b) => b.parts.length - a.parts.length);
  const parts = toParts(given);
  const found: string[] = [];
  for (let at = 0; at < parts.length;) {
    const match = names.find((known) => known.parts.every((part, index) => part === parts[at + index]));
    if (match !== undefined) found.push(roles[match.name] as string);
    at += match?.parts.length ?? 1;
  }
  return found;
}

/** The one text of a header; `undefined` if it is absent, or sent twice, which only someone who adds one does. */
function textOf(request: Request, header: string): string | undefined {
  const text = request.headers.get(header)?.trim() ?? "";
  return text === "" || text.length > 128 || text.includes(",") ? undefined : text;
}

function checkHeader(header: string | undefined): void {
  if (header === undefined || /^[\w-]+$/.test(header)) return;
  throw new AgentError("invalid_request", `${JSON.stringify(header)} is not the name of a header`);
}

function toAddresses(from: readonly string[]): BlockList {
  if (from.length === 0) {
    throw new AgentError("invalid_request", "trustedHeader needs the addresses of the proxies", {
      hint: 'from: ["127.0.0.1"] for a proxy on the same machine',
    });
  }
  const list = new BlockList();
  for (const entry of from) {
    const [address = "", bits, ...rest] = entry.split("/");
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const isNetwork = bits !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
    if (version === 0 || rest.length > 0 || (bits !== undefined && !isNetwork)) {
      throw new AgentError("invalid_request", `${JSON.stringify(entry)} is not the address of a proxy`, {
        hint: "write an IP address or a network: 10.1.2.3 or 10.0.0.0/8",
      });
    }
    list.addSubnet(address, bits === undefined ? most : Number(bits), version === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** A socket for both versions shows an address of IPv4 as `::ffff:10.1.2.3`. */
function includes(list: BlockList, address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
  const version = isIP(plain);
  return version !== 0 && list.check(plain, version === 6 ? "ipv6" : "ipv4");
}
