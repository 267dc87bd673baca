import type { ReadinessProbe } from "../../../ports/readiness.ts";
import type { Agent, ChatInput, ChatOutput, Operation, Operations } from "../agent.ts";
import type { RemoteHandler } from "../remote-port.ts";
import { markAgent } from "./check-definition.ts";
import { toAgent } from "./definition.ts";

/** What `defineRemoteAgent` takes. */
export interface RemoteDefinition {
  /** The local name of the agent. */
  readonly name: string;
  /** What it does. A function is called whenever somebody asks, so that the other side can say it later. */
  readonly purpose: string | (() => string);
  /** Its operations as they are known now. Default: only a chat. */
  readonly operations?: () => Operations;
  /** With `run`, the calls of one run share the memory of the agent; default `own`. */
  readonly memory?: "own" | "run";
  readonly readiness?: ReadinessProbe;
  /** Performs its operations. */
  readonly remote: RemoteHandler;
}

/** The operations of an agent that is unknown at compile time. */
export interface RemoteOperations extends Operations {
  readonly chat: Operation<ChatInput, ChatOutput>;
}

/**
 * Makes a local agent of one elsewhere that any protocol reaches: the handler performs its operations there, and reports what happens
 * to the log of the run here.
 */
export function defineRemoteAgent({
  name,
  purpose,
  operations,
  memory = "own",
  readiness,
  remote,
}: RemoteDefinition): Agent<RemoteOperations> {
  const toPurpose = typeof purpose === "string" ? () => purpose : purpose;
  const local = toAgent({ name, purpose: toPurpose(), memory, chat() {} }) as Agent<RemoteOperations>;
  return markAgent({
    ...local,
    remote,
    ...(readiness && { readiness }),
    get purpose() {
      return toPurpose();
    },
    get operations() {
      return { ...local.operations, ...operations?.() };
    },
  });
}
