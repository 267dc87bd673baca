import type { Context } from "hono";
import { AgentError, toAgentError } from "../../errors.ts";
import type { AppEnv } from "./app-env.ts";
import { pathIn } from "./mount.ts";
import { toProblem } from "./problem.ts";
import { reply, replyProblem } from "./reply.ts";

/** A refusal in the words of a wire. */
export interface Refusal {
  readonly body: string;
  /** Default: the status of the native protocol. */
  readonly status?: number;
  /** The media type. Default `application/json`. */
  readonly type?: string;
  /** Besides Retry-After, WWW-Authenticate and Allow, which the server adds. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** How a wire refuses requests. */
export interface RefusingWire {
  readonly name: string;
  /** Whether a path, below the mount of the app, is the wire's own. */
  owns(path: string): boolean;
  /** An error in the words of the wire. An unexpected error arrives as `internal`, without its cause. */
  toRefusal(error: AgentError): Refusal;
}

/** Differences of an answer from the one that the error's code implies. */
export interface RefusalOptions {
  /** For statuses that HTTP knows and the codes do not. */
  readonly own?: { readonly status: number; readonly title: string };
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Answers a request with an error. */
export type Refuse = (c: Context<AppEnv>, thrown: unknown, options?: RefusalOptions) => Response;

/**
 * Creates the answer to everything that is refused: by the wire that claimed the request (`c.set("wire", name)`) or
 * owns its path, otherwise as a problem document of the native protocol.
 */
export function createRefuse(wires: readonly RefusingWire[]): Refuse {
  function wireOf(c: Context<AppEnv>): RefusingWire | undefined {
    if (wires.length === 0) return undefined;
    const claimed = c.get("wire");
    if (claimed !== undefined) return wires.find(({ name }) => name === claimed);
    const path = pathIn(c);
    return wires.find((wire) => wire.owns(path));
  }

  return (c, thrown, { own, headers } = {}) => {
    const problem = toProblem(thrown, own);
    const wire = wireOf(c);
    if (wire === undefined) return replyProblem(c, problem, headers);
    const refusal = wire.toRefusal(toShown(thrown));
    return reply(c, refusal.body, {
      status: own?.status ?? refusal.status ?? problem.status,
      ...(refusal.type !== undefined && { type: refusal.type }),
      headers: { ...problem.headers, ...refusal.headers, ...headers },
    });
  };
}

/** The error that a client may see. */
function toShown(thrown: unknown): AgentError {
  const error = toAgentError(thrown);
  // The failure of a request to another server; its message is for the code that made it.
  return error.code === "call_failed" ? new AgentError("internal", "an unexpected error occurred") : error;
}
