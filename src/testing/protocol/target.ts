import type { ContextHost } from "./context.ts";
import type { Role, RoleNames } from "./roles.ts";
import { Wire, isRecord } from "./wire.ts";

/** The server to check, and options. */
export interface TargetOptions {
  /** The URL of the protocol's `GET /`. */
  readonly baseUrl: string;
  /** The names of agents for roles, where they differ from the names of the roles. */
  readonly agents?: RoleNames;
  /**
   * Kills the server, restarts it on the same data, and returns its base URL. Without it some cases are
   * skipped.
   */
  readonly restart?: () => Promise<string>;
  /** Also runs slow cases, and the full number of repetitions. Default false. */
  readonly thorough?: boolean;
  /** Maximum time for any single answer or event. Default 10,000. */
  readonly timeoutMs?: number;
  /** Sent as bearer token. */
  readonly token?: string;
}

/** A server under test: its current address and its agents. */
export interface Target extends ContextHost {
  readonly wire: Wire;
  readonly canRestart: boolean;
  has(role: Role): boolean;
  nameOf(role: Role): string;
}

/** Reads the agents of a server. */
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
      if (restart === undefined) throw new Error("the option restart is missing");
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
