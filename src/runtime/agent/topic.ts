import { AgentError } from "../../errors.ts";
import { isKey } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import { markAgent } from "./definition/check-definition.ts";
import type { Agent, Messages, Schema } from "./agent.ts";

/** The agent whose actors are topics. It is served, but not in the list of agents. */
export const TOPIC_AGENT = "troupe-topic";

/** What is published to a topic that declares nothing: any JSON, under any name. */
export type AnyMessages = { readonly [name: string]: Schema<unknown, Json> };

/** A subject that actors publish to and subscribe to: an actor of the runtime, whose key is the name. */
export interface Topic<Published extends Messages = AnyMessages> {
  readonly name: string;
  /** 1 if a new subscriber gets the newest publication of each name. Default 0. */
  readonly retain: 0 | 1;
  /** The schemas of what can be published, by name; empty if that is anything. */
  readonly messages: Published;
}

/** Options of `topic`. */
export interface TopicOptions<Published extends Messages = AnyMessages> {
  /** 1 if a new subscriber gets the newest publication of each name. Default 0. */
  readonly retain?: 0 | 1;
  /**
   * The schemas of what can be published, by name. Anything else is refused, from every publisher; so the runtime needs the topic
   * (`createRuntime({ topics })`, or an export of a file of agents). Default: any JSON can be published, under any name.
   */
  readonly messages?: Published;
}

/**
 * Names a topic. It need not be created: the first publication or subscription does that. What is published has a name and a
 * body, and every subscriber that takes this name is told it, exactly once and in order.
 */
export function topic<const Published extends Messages = AnyMessages>(
  name: string,
  { retain = 0, messages }: TopicOptions<Published> = {},
): Topic<Published> {
  if (typeof name !== "string" || !isKey(name))
    throw new AgentError(
      "invalid_request",
      `the name of a topic must have 1 to 128 letters, digits and signs of _ - . : @, not ${JSON.stringify(name)}`,
    );
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- the code of a caller may not be type-checked
  if (retain !== 0 && retain !== 1)
    throw new AgentError("invalid_request", `the retain of topic ${name} must be 0 or 1`);
  for (const [published, schema] of Object.entries(messages ?? {})) {
    checkPublishable(published);
    // oxlint-disable-next-line typescript/no-unnecessary-condition -- the code of a caller may not be type-checked
    if (typeof schema?.["~standard"]?.validate !== "function")
      throw new AgentError("invalid_request", `message ${published} of topic ${name} has no schema`, {
        hint: "use one of zod, valibot or another library of Standard Schema",
      });
  }
  return { name, retain, messages: messages ?? ({} as Published) };
}

/** Whether a value was made by `topic`. */
export function isTopic(value: unknown): value is Topic<Messages> {
  if (typeof value !== "object" || value === null) return false;
  const { name, retain, messages } = value as Partial<Topic>;
  return typeof name === "string" && (retain === 0 || retain === 1) && typeof messages === "object";
}

/** The topics that a runtime was given, whose publications it checks. */
export class DeclaredTopics {
  readonly #topics = new Map<string, Topic<Messages>>();

  constructor(topics: readonly Topic<Messages>[]) {
    for (const [index, given] of topics.entries()) {
      if (!isTopic(given))
        throw new AgentError("invalid_request", `topics[${index}] of the runtime is not a topic`, {
          hint: 'make it with topic("name")',
        });
      const known = this.#topics.get(given.name);
      if (known !== undefined && known !== given)
        throw new AgentError("invalid_request", `two topics have the name ${given.name}`);
      this.#topics.set(given.name, given);
    }
  }

  /** All of them, in the order in which they were given. */
  get all(): readonly Topic<Messages>[] {
    return [...this.#topics.values()];
  }

  get(name: string): Topic<Messages> | undefined {
    return this.#topics.get(name);
  }

  /** What is known of a topic that code uses. Throws `invalid_request` if it declares what the runtime does not know. */
  known({ name, ...given }: Topic<Messages>): Topic<Messages> {
    const declared = this.#topics.get(name);
    if (declared !== undefined) return declared;
    const used = topic(name, given);
    if (Object.keys(used.messages).length === 0) return used;
    throw new AgentError("invalid_request", `topic ${name} has messages, but the runtime does not know it`, {
      hint: "give it to createRuntime({ topics }), or export it from the file of an agent",
    });
  }

  /** The schema of a publication; `undefined` if anything can be published. Throws `unprocessable` for an undeclared name. */
  schemaOf(name: string, published: string): Schema<unknown> | undefined {
    const declared = this.#topics.get(name);
    return declared && schemaIn(declared, published);
  }
}

/** The schema of what is published under a name; throws `unprocessable` unless the topic has that name or takes any. */
export function schemaIn(
  { name, messages }: Topic<Messages>,
  published: string,
): Schema<unknown> | undefined {
  const names = Object.keys(messages);
  if (names.length === 0) return undefined;
  if (Object.hasOwn(messages, published)) return messages[published];
  throw new AgentError("unprocessable", `nothing is published as ${published} to topic ${name}`, {
    hint: `it has ${names.join(", ")}`,
    facts: { messages: names },
  });
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
