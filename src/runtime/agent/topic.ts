import { AgentError } from "../../errors.ts";
import { isKey } from "../../protocol/ids.ts";
import { markAgent } from "./definition/check-definition.ts";
import type { Agent } from "./agent.ts";

/** The agent whose actors are topics. It is served, but not in the list of agents. */
export const TOPIC_AGENT = "troupe-topic";

/** A subject that actors publish to and subscribe to: an actor of the runtime, whose key is the name. */
export interface Topic {
  readonly name: string;
  /** 1 if a new subscriber gets the newest publication of each name. Default 0. */
  readonly retain: 0 | 1;
}

/**
 * Names a topic. It need not be created: the first publication or subscription does that. What is published has a name and a
 * body, and every subscriber that takes this name is told it, exactly once and in order.
 */
export function topic(name: string, { retain = 0 }: { readonly retain?: 0 | 1 } = {}): Topic {
  if (typeof name !== "string" || !isKey(name))
    throw new AgentError(
      "invalid_request",
      `the name of a topic must have 1 to 128 letters, digits and signs of _ - . : @, not ${JSON.stringify(name)}`,
    );
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- the code of a caller may not be type-checked
  if (retain !== 0 && retain !== 1)
    throw new AgentError("invalid_request", `the retain of topic ${name} must be 0 or 1`);
  return { name, retain };
}

/** The agent of all topics of a runtime. It has no handler: publications are messages, which no turn reads. */
export function createTopicAgent(): Agent {
  return markAgent({
    name: TOPIC_AGENT,
    purpose: "Passes on what is published to its subscribers.",
    compatible: [],
    kind: "agent",
    effect: "idempotent",
    operations: {},
    tools: [],
    uses: {},
    memory: "own",
  });
}

/** Whether something can be published under a name: it could be that of an operation or a message. */
export function isPublishable(name: unknown): name is string {
  return typeof name === "string" && /^[a-z][a-z0-9_]{0,62}$/.test(name);
}

/** Throws `invalid_request` for a name under which nothing can be published. */
export function checkPublishable(name: unknown): asserts name is string {
  if (isPublishable(name)) return;
  throw new AgentError(
    "invalid_request",
    `${JSON.stringify(name)} is not a name for a publication: use a-z, 0-9 and _, at most 63 characters, starting with a letter`,
  );
}
