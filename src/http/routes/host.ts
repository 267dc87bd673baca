import type { Context } from "hono";
import { AgentError } from "../../errors.ts";
import { readTraceHeaders } from "../../shared/trace-context.ts";
import type { TraceContext } from "../../shared/trace-context.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import type { Runtime } from "../../runtime/api.ts";
import type { Principal } from "../../ports/principal.ts";
import type { AppEnv } from "../messages/app-env.ts";
import type { Mount } from "../messages/mount.ts";
import type { OpenStreams } from "../sse/open-streams.ts";
import type { PendingReplies } from "./pending-replies.ts";

/** What the routes of a server share. What a request works with depends on who makes it: `as` tells. */
export interface SharedHost {
  /** What is the same for everyone. */
  readonly runtime: ServedRuntime;
  readonly streams: OpenStreams;
  readonly waits: PendingReplies;
  readonly report: (where: string, thrown: unknown) => void;
  readonly mount: Mount;
  readonly bodyLimitBytes: number;
  readonly fileLimitBytes: number;
  /**
   * Finds out whose token a text is, throws for an unknown one, and counts wrong ones; absent if everyone may use the server.
   */
  readonly authenticate?: (c: Context<AppEnv>, token: string) => Promise<Principal>;
  /**
   * What a request works with: the runtime of its principal. On a path that is open to everyone it has none, and an adapter
   * that finds out by itself who makes the request gives it.
   */
  as(c: Context<AppEnv>, principal?: Principal): Host;
  /** The same without the trace of the HTTP request: it is one object as long as the principal is. */
  of(c: Context<AppEnv>): Host;
}

/** What the routes of the native protocol and of adapters work with, for one principal. Only the runtime knows about turns. */
export interface Host extends Omit<SharedHost, "runtime" | "as" | "of"> {
  readonly runtime: Runtime;
}

/** The part of a runtime that is the same for everyone. Nothing of any owner is in it. */
export type ServedRuntime = Pick<Runtime, "defaultAgent" | "health" | "readiness">;

/** Makes the host of an app. */
export function createHost(runtime: Runtime, shared: Omit<SharedHost, "runtime" | "as" | "of">): SharedHost {
  const hosts = new WeakMap<Runtime, Host>();
  const of = (c: Context<AppEnv>, principal = principalOf(c)): Host => {
    const own = runtime.as(principal);
    const known = hosts.get(own);
    if (known) return known;
    const host = { ...shared, runtime: own };
    hosts.set(own, host);
    return host;
  };
  return {
    ...shared,
    runtime,
    of: (c) => of(c),
    as(c, principal) {
      const host = of(c, principal);
      const trace = traceOf(c);
      return trace === undefined ? host : { ...host, runtime: withTrace(host.runtime, trace) };
    },
  };
}

/** The trace that an HTTP request belongs to; `undefined` if it says none. */
export function traceOf(c: Context<AppEnv>): TraceContext | undefined {
  return readTraceHeaders((name) => c.req.header(name));
}

/** The runtime whose requests belong to a trace, unless they say another one. */
function withTrace(runtime: Runtime, trace: TraceContext): Runtime {
  const process: Runtime["process"] = (agent, request) => runtime.process(agent, withTraceOf(request, trace));
  return Object.create(runtime, { process: { value: process } }) as Runtime;
}

/** A request as a part of a trace, unless it says another one, or starts no turn. */
export function withTraceOf(request: Request, trace: TraceContext | undefined): Request {
  const isTurn = request.type === "ChatRequest" || request.type === "OperationRequest";
  return trace === undefined || !isTurn || request.trace !== undefined ? request : { ...request, trace };
}

/** Who makes a request. */
export function principalOf(c: Context<AppEnv>): Principal {
  const principal = c.get("principal");
  if (principal !== undefined) return principal;
  throw new AgentError("internal", "a path that is open to everyone works with nothing of an owner");
}

/**
 * Something that is made from the host of a principal when its first request comes, and kept as long as the host is.
 */
export function perHost<Made>(shared: SharedHost, make: (host: Host) => Made): (c: Context<AppEnv>) => Made {
  const made = new WeakMap<Host, { readonly value: Made }>();
  return (c) => {
    const host = shared.of(c);
    const known = made.get(host) ?? { value: make(host) };
    made.set(host, known);
    return known.value;
  };
}

/** The path of a set of routes and its agent; at the root, all agents. */
export interface Place {
  /** Empty at the root, otherwise `/` and the agent's name. */
  readonly path: string;
  readonly agent: string | undefined;
}
