import { AgentError } from "../../errors.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import { defineRemoteAgent } from "../../runtime/agent/definition/remote.ts";
import type { RemoteOperations } from "../../runtime/agent/definition/remote.ts";
import type { RemoteHandler } from "../../runtime/agent/remote-port.ts";
import { RemoteCall } from "./call.ts";
import { abandon } from "./cancel.ts";
import { RemoteDescription } from "../description/description.ts";
import { remoteLimits } from "./settings.ts";
import type { RemoteLimits } from "./settings.ts";
import { decodeState } from "./state.ts";
import { Wire } from "../wire/wire.ts";
import type { WireOptions } from "../wire/wire.ts";

/** What `remoteAgent` takes. */
export interface RemoteAgentOptions extends WireOptions {
  /** The local name of the agent. Default: the last part of its address. */
  readonly name?: string;
  /** The description that is used before the server has sent its own. */
  readonly purpose?: string;
  /** With `run`, the calls of one local run share one remote run and its memory; default `own`. */
  readonly memory?: "own" | "run";
  /** Also sends the turn's `request_metadata`. Default false, because clients put secrets there. */
  readonly metadata?: boolean;
  /**
   * Other origins from which the agent's files may be downloaded. Default: only the origin of its address.
   */
  readonly artifactOrigins?: readonly string[];
  /** Maximum age of the agent's description in milliseconds. Default 60,000. */
  readonly refreshMs?: number;
  readonly limits?: Partial<RemoteLimits>;
}

/** An agent elsewhere that is defined like this; what it uses is unknown here. */
export type RemoteOf<Definition extends Agent> = Agent<
  Definition["operations"],
  NonNullable<Definition["messages"]>
>;

/**
 * Makes a local agent of one on any server of the protocol. A request or call is performed there and its
 * events are logged here as they happen, including those of deeper agents. Its questions are asked here and
 * its files are stored here. Lost connections, restarts of either side and lost answers lose no event and
 * start no second turn. A fault of the other side ends only that call, with an error.
 *
 * List the agent under `tools` or `uses` of the agent that calls it. Then a cancel reaches the other side
 * even if the process that made the call is gone.
 *
 * With the type of its definition, `remoteAgent<typeof shop>(url)`, its operations and messages are checked like those of a
 * local agent.
 */
export function remoteAgent<Definition extends Agent = Agent<RemoteOperations>>(
  url: string,
  { name, purpose, memory = "own", refreshMs = 60_000, limits, ...options }: RemoteAgentOptions = {},
): RemoteOf<Definition> {
  const local = name ?? nameOf(url);
  const subject = `agent ${local}`;
  const description = new RemoteDescription(new Wire(url, options, { subject }), refreshMs);
  const settings = { ...options, name: local, limits: { ...remoteLimits, ...limits } };
  const remote: RemoteHandler = {
    get known() {
      return description.known;
    },
    get keys() {
      return description.keys;
    },
    ready: () => description.ready(),
    perform(asked, session) {
      void description.ready();
      const wire = new Wire(url, options, { clock: session.environment, subject });
      return new RemoteCall(wire, asked, session, settings).run();
    },
    abandon(kept, environment) {
      const { requestId } = decodeState(kept);
      const wire = new Wire(url, options, { clock: environment, subject });
      if (requestId !== undefined) void abandon(wire, requestId, settings.limits.cancelMs);
    },
  };
  return defineRemoteAgent({
    name: local,
    purpose: () => description.purpose ?? purpose ?? "A remote agent whose description is not loaded yet.",
    operations: () => description.operations,
    memory,
    readiness: () => description.readiness(local),
    remote,
  });
}

function nameOf(url: string): string {
  const name = URL.canParse(url)
    ? new URL(url).pathname.split("/").findLast((part) => part !== "")
    : undefined;
  if (name !== undefined) return name;
  throw new AgentError("invalid_request", `the address ${JSON.stringify(url)} contains no agent name`, {
    hint: "give it a local name: remoteAgent(url, { name })",
  });
}
