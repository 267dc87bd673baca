import { isObject } from "../../protocol/json.ts";
import type { ContextHost } from "./context.ts";
import type { AgentRole, RoleNames } from "./roles.ts";
import { HttpClient } from "./http-client.ts";

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
  readonly http: HttpClient;
  readonly canRestart: boolean;
  has(role: AgentRole): boolean;
  nameOf(role: AgentRole): string;
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
  let http = new HttpClient(baseUrl, { timeoutMs, token });
  const paths = await discover(new HttpClient(baseUrl, { timeoutMs: Math.max(timeoutMs, LIST_MS), token }));
  const nameOf = (role: AgentRole): string => agents[role] ?? role;
  return {
    get http() {
      return http;
    },
    thorough,
    canRestart: restart !== undefined,
    nameOf,
    has: (role) => paths.has(nameOf(role)),
    path: (role) => paths.get(nameOf(role)) ?? `/${nameOf(role)}`,
    async restart() {
      if (restart === undefined) throw new Error("the option restart is missing");
      http = new HttpClient(await restart(), { timeoutMs, token });
      return http;
    },
  };
}

/** How long a server has for its list of agents, at least: it may just have started, and the list is no case. */
const LIST_MS = 30_000;

async function discover(http: HttpClient): Promise<ReadonlyMap<string, string>> {
  const paths = new Map<string, string>();
  const { json } = await http.ask("GET", "/");
  for (const entry of Array.isArray(json) ? json : []) {
    if (!isObject(entry)) continue;
    const { name, path } = entry;
    if (typeof name === "string" && typeof path === "string") {
      paths.set(name, path.replace(/\/+$/, ""));
    }
  }
  return paths;
}
