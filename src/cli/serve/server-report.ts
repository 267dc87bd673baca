import type { ListenerAddress } from "../../node/listener.ts";

/** A server process has loaded its agents and waits for `StartMessage`. */
export interface LoadedReport {
  readonly type: "loaded";
  /** The files that the agents were loaded from. */
  readonly files: readonly string[];
  /** The packages that they import and that are not installed. */
  readonly missing: readonly string[];
  /** The agent files that export no agent. */
  readonly withoutAgent: readonly string[];
  /** The agent files that cannot be loaded, whose agents are not served. */
  readonly broken: readonly string[];
}

/** A server process serves. */
export interface ReadyReport {
  readonly type: "ready";
  readonly url: string;
  /** Where the runs are kept: a directory, or the URL of a database without its password. */
  readonly data: string;
  readonly agents: readonly string[];
  readonly defaultAgent: string;
  /** Where the protocols with sockets of their own are served. */
  readonly listeners: readonly ListenerAddress[];
  /** The number of runs with an open request. */
  readonly open: number;
}

/** A server process cannot start and exits; its exit code gives the reason. */
export interface FailureReport {
  readonly type: "failed";
  /** The files that the agents were loaded from, as far as that went. */
  readonly files: readonly string[];
  /** The packages that they import and that are not installed. */
  readonly missing: readonly string[];
}

/** What a server process reports to `troupe dev`. */
export type ServerReport = LoadedReport | ReadyReport | FailureReport;

/** What `troupe dev` sends to a server process: serve now, or end now. Open turns continue after the next start. */
export interface ServerCommand {
  readonly type: "start" | "stop";
}

/** Says whether a message is a report of a server process. */
export function isServerReport(message: unknown): message is ServerReport {
  return ["loaded", "ready", "failed"].includes(typeOf(message));
}

/** Says whether a message is a command for a server process. */
export function isServerCommand(message: unknown): message is ServerCommand {
  return ["start", "stop"].includes(typeOf(message));
}

function typeOf(message: unknown): string {
  if (typeof message !== "object" || message === null || !("type" in message)) return "";
  return typeof message.type === "string" ? message.type : "";
}
