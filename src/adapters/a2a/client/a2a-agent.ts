import { AgentError } from "../../../errors.ts";
import type { Agent } from "../../../runtime/agent/agent.ts";
import { defineRemoteAgent } from "../../../runtime/agent/definition/remote.ts";
import type { RemoteOperations } from "../../../runtime/agent/definition/remote.ts";
import type { RemoteHandler } from "../../../runtime/agent/remote-port.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { AgentCards, cardClock } from "./cards.ts";
import { A2aConnection, parseAgentAddress } from "./connection.ts";
import type { A2aConnectionOptions } from "./connection.ts";
import { cancelKept, TaskCall } from "./task-call.ts";

/** What `a2aAgent` takes. */
export interface A2aAgentOptions extends A2aConnectionOptions {
  /** The local name of the agent. Default: the last part of its address. */
  readonly name?: string;
  /** What it does, until its card has been read. */
  readonly purpose?: string;
  /** With `run`, the calls of one local run are tasks of one context; default `own`. */
  readonly memory?: "own" | "run";
  /** Also sends the turn's `request_metadata`. Default false, because clients put secrets there. */
  readonly metadata?: boolean;
  readonly limits?: Partial<A2aLimits>;
}

/** Limits for an agent of A2A; a call that exceeds one ends with an error. */
export interface A2aLimits {
  /** Maximum time for each answer to begin, in milliseconds. Default 30 s. */
  readonly answerMs: number;
  /** Maximum time that the agent may be unreachable. Default 2 min. */
  readonly unreachableMs: number;
  /** Reconnects after this time without any bytes. Default 45 s. */
  readonly idleMs: number;
  /** Maximum time without any news of the task. Default 10 min. */
  readonly silenceMs: number;
  /** Interval at which a task is read that has no stream. Default 1 s. */
  readonly pollMs: number;
  /** Maximum bytes of one answer, and of one file inside an answer. Default 64 Mi. */
  readonly bytes: number;
}

const LIMITS: A2aLimits = {
  answerMs: 30_000,
  unreachableMs: 120_000,
  idleMs: 45_000,
  silenceMs: 600_000,
  pollMs: 1_000,
  bytes: 64 * 1_048_576,
};

/**
 * Makes a local agent of any that speaks A2A, by the address of the agent or of its card. Each call is a task. Its texts are logged as
 * they arrive, its files are stored here, and what it asks is asked here. After a crash the call continues the same task.
 */
export function a2aAgent(
  url: string,
  { name, purpose, memory = "own", limits: given, ...options }: A2aAgentOptions = {},
): Agent<RemoteOperations> {
  const limits = { ...LIMITS, ...given };
  const local = name ?? nameOf(url);
  const subject = `agent ${local}`;
  const connect = (clock: MonotonicClock): A2aConnection =>
    new A2aConnection(url, options, { subject, clock, limits });
  const cards = new AgentCards(connect(cardClock), purpose);
  const settings = { name: local, limits, metadata: options.metadata === true, memory };
  const remote: RemoteHandler = {
    get known() {
      return cards.known;
    },
    ready: () => cards.ready(),
    perform: (asked, session) =>
      new TaskCall(connect(session.environment), cards, { asked, session, settings }).run(),
    abandon(kept, environment) {
      void cancelKept(connect(environment), cards, { kept, clock: environment, limits });
    },
  };
  return defineRemoteAgent({
    name: local,
    purpose: () => cards.purpose,
    operations: () => cards.operations,
    memory,
    readiness: () => cards.readiness(local),
    remote,
  });
}

function nameOf(url: string): string {
  const parts = parseAgentAddress(url)
    .pathname.split("/")
    .filter((part) => part !== "");
  const name = parts.findLast((part) => part !== ".well-known" && !part.endsWith(".json"));
  if (name !== undefined) return name;
  throw new AgentError("invalid_request", `the address ${JSON.stringify(url)} contains no agent name`, {
    hint: "give it a local name: a2aAgent(url, { name })",
  });
}
