import type { ContextHost } from "./context.ts";
import type { Role, RoleNames } from "./roles.ts";
import { Wire, isRecord } from "./wire.ts";

/** Which server to hold to the protocol, and how. */
export interface TargetOptions {
  /** Where `GET /` of the protocol is. */
  readonly baseUrl: string;
  /** Names of agents that fill roles, where they differ from the roles' own. */
  readonly agents?: RoleNames;
  /** Kills the server without warning, starts it again on the same data, and gives its base url. Without it some cases are skipped. */
  readonly restart?: () => Promise<string>;
  /** Also the cases that take long, and the full number of repetitions. Default false. */
  readonly thorough?: boolean;
  /** How long any single answer or event may take. Default 10,000. */
  readonly timeoutMs?: number;
  /** Sent as bearer token. */
  readonly token?: string;
}

/** A server under test: where it is at present, and which agents it has. */
export interface Target extends ContextHost {
  readonly wire: Wire;
  readonly canRestart: boolean;
  has(role: Role): boolean;
  nameOf(role: Role): string;
}

/** Finds out which agents a server has. */
export async function createTarget({
  baseUrl,
  agents = {},
  restart,
  thorough = false,
  timeoutMs = 10_000,
  token,
}: TargetOptions): Promise<Target> {
  let wire = new Wire(baseUrl, { timeoutMs, token });
  const paths = await discover(wire);
  const nameOf = (role: Role): string => agents[role] ?? role;
  return {
    get wire() {
      return wire;
    },
    thorough,
    canRestart: restart !== undefined,
    nameOf,
    has: (role) => paths.has(nameOf(role)),
    path: (role) => paths.get(nameOf(role)) ?? `/${nameOf(role)}`,
    async restart() {
      if (restart === undefined) throw new Error("there is no way to restart the server");
      wire = new Wire(await restart(), { timeoutMs, token });
      return wire;
    },
  };
}

async function discover(wire: Wire): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  const { json } = await wire.ask("GET", "/");
  for (const entry of Array.isArray(json) ? json : []) {
    if (!isRecord(entry)) continue;
    const { name, path } = entry;
    if (typeof name === "string" && typeof path === "string") {
      paths.set(name, path.replace(/\/+$/, ""));
    }
  }
  return paths;
}
