import { AgentError } from "../../errors.ts";
import type { Agent, ChatInput, ChatOutput, Operation, Operations } from "../../runtime/agent/agent.ts";
import { defineAgent } from "../../runtime/agent/define.ts";
import type { RemoteHandler } from "../../runtime/agent/remote-port.ts";
import { RemoteCall } from "./call.ts";
import { abandon } from "./cancel.ts";
import { RemoteDescription } from "./description.ts";
import { remoteLimits } from "./limits.ts";
import type { RemoteLimits } from "./limits.ts";
import { fromKept } from "./state.ts";
import { Wire } from "../wire/wire.ts";
import type { WireOptions } from "../wire/wire.ts";

/** What `remoteAgent` takes. */
export interface RemoteAgentOptions extends WireOptions {
  /** What the agent is called here. Default the last part of its address. */
  readonly name?: string;
  /** What is shown of it until it has described itself. */
  readonly purpose?: string;
  /** `run` lets the calls of one run share one run there, and with it the agent's memory; default `own`. */
  readonly memory?: "own" | "run";
  /** Also sends the `request_metadata` of the turn. Default false, since clients put secrets there. */
  readonly metadata?: boolean;
  /** Other origins from which files of the agent may be fetched. Default only that of its address. */
  readonly artifactOrigins?: readonly string[];
  /** How old what it says of itself may become, in milliseconds. Default 60,000. */
  readonly refreshMs?: number;
  readonly limits?: Partial<RemoteLimits>;
}

/** The operations of an agent of which nothing is known at compile time. */
export interface RemoteOperations extends Operations {
  readonly chat: Operation<ChatInput, ChatOutput>;
}

/**
 * Makes an agent of this runtime of one that is served elsewhere, by any server of the protocol. Asked or
 * called, it has its request performed there; what happens there is logged here as it happens, one agent
 * speaking after the other, its questions are asked and its files stored here. Lost connections, restarts of
 * either side and answers that were lost cost no event and no second turn. Whatever the other side does wrong
 * ends the one call with an error.
 *
 * An agent that calls it names it under `tools` or `uses`: then a cancel reaches the other side also when the
 * turn was left waiting by a process that is gone.
 */
export function remoteAgent<Ops extends Operations = RemoteOperations>(
  url: string,
  { name, purpose, memory = "own", refreshMs = 60_000, limits, ...options }: RemoteAgentOptions = {},
): Agent<Ops> {
  const local = defineAgent({
    name: name ?? nameOf(url),
    purpose: purpose ?? "Works elsewhere; it has not said for what yet.",
    memory,
    chat() {},
  });
  const subject = `agent ${local.name}`;
  const description = new RemoteDescription(new Wire(url, options, { subject }), refreshMs);
  const settings = { ...options, name: local.name, limits: { ...remoteLimits, ...limits } };
  const remote: RemoteHandler = {
    get known() {
      return description.known;
    },
    ready: () => description.ready(),
    perform(asked, place) {
      void description.ready();
      const wire = new Wire(url, options, { clock: place.environment, subject });
      return new RemoteCall(wire, asked, place, settings).run();
    },
    abandon(kept, environment) {
      const { requestId } = fromKept(kept);
      const wire = new Wire(url, options, { clock: environment, subject });
      if (requestId !== undefined) void abandon(wire, requestId, settings.limits.cancelMs);
    },
  };
  return {
    ...local,
    remote,
    get purpose() {
      return description.purpose ?? local.purpose;
    },
    get operations() {
      return description.operations as Ops;
    },
  };
}

function nameOf(url: string): string {
  const name = URL.canParse(url)
    ? new URL(url).pathname.split("/").findLast((part) => part !== "")
    : undefined;
  if (name !== undefined) return name;
  throw new AgentError("invalid_request", `the address ${JSON.stringify(url)} names no agent`, {
    hint: "give the name that it is to have here: remoteAgent(url, { name })",
  });
}
