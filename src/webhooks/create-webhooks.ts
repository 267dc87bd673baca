import { z } from "zod";
import { AgentError, isInstance, messageOf } from "../errors.ts";
import type { Push } from "../http/push.ts";
import { DEFAULT_OWNER, isOwner } from "../ports/principal.ts";
import type { Listener } from "../node/listener.ts";
import type { Event } from "../protocol/events/events.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { RunId } from "../protocol/ids.ts";
import { defineAgent } from "../runtime/agent/definition/define.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import type { Runtime } from "../runtime/api.ts";
import { Semaphore } from "../shared/semaphore.ts";
import { sha256 } from "../shared/sha256.ts";
import { WEBHOOK_AGENT } from "../runtime/journal/system-runs.ts";
import { Announcer } from "./announcer.ts";
import type { Announcement } from "./announcer.ts";
import { AT_ONCE, deliver, isDelivered, toSigningKey } from "./delivery.ts";
import type { DeliveryAttempt, Receiver, ToSend } from "./delivery.ts";
import { PushReceivers, RECEIVERS_LIMIT } from "./push-receivers.ts";
import { canSee, seenBy } from "./sender.ts";

/** What a message is about: a question is open, a request has ended, a turn is held, a budget is used up (which is a question too). */
export type WebhookTopic = "wait" | "end" | "held" | "budget";

/** A receiver of webhooks. */
export interface WebhookOptions {
  /** Where they are sent, by POST: https, or with `allowPrivate` also http. */
  readonly url: string;
  readonly on: readonly WebhookTopic[];
  /** Signs them as Standard Webhooks says: `whsec_` and base64 of 24 to 64 bytes, shared with the receiver. */
  readonly secret: string;
  /** A short name, which the runs of its deliveries have. It must stay the same. Default: the host of the URL. */
  readonly name?: string;
  /** Only of runs of these agents. Default: all. */
  readonly agents?: readonly string[];
  /** Only of runs of this owner. Default: of runs of all owners. */
  readonly owner?: string;
  /** Whether they may be sent to this machine and to private networks. Default false. */
  readonly allowPrivate?: boolean;
}

/** Receivers that clients of wires name, for example by the push notifications of A2A. */
export interface PushOptions {
  /** Whether they may be on this machine and in private networks, and reached by http. Default false. */
  readonly allowPrivate?: boolean;
}

/** Webhooks of a server: an agent whose runs are the deliveries, and the listener that requests them. */
export interface Webhooks extends Listener {
  /** Belongs to the agents of the runtime. Each of its runs has the deliveries of one run to one receiver. */
  readonly agent: Agent;
  /** For wires whose clients name receivers: `a2a({ push: hooks.push })`. */
  readonly push: Push;
}

/**
 * Sends events of the log to receivers: at least once, in order for a run, for 24 hours with growing pauses. A delivery is a
 * turn of the agent `webhook`, so it goes on after a restart, is seen as a run, and its operation `resend` sends it again.
 * Start it with the server: `createRuntime({ agents: [..., hooks.agent] })` and `serve(runtime, { listeners: [hooks] })`.
 */
export function createWebhooks(
  endpoints: readonly WebhookOptions[],
  { push: { allowPrivate = false } = {} }: { readonly push?: PushOptions } = {},
): Webhooks {
  const receivers = new Map(endpoints.map((options) => [nameOf(options), toEndpoint(options)]));
  if (receivers.size < endpoints.length) {
    throw new AgentError("invalid_request", "two webhooks have the same name", {
      hint: "give each one a name",
    });
  }
  /** The names of the receivers by the owner whose runs they are told of; of `undefined`: those of all runs. */
  const ofOwners = new Map<string | undefined, readonly string[]>(
    [...Map.groupBy(receivers, ([, { owner }]) => owner)].map(([owner, own]) => [
      owner,
      own.map(([name]) => name),
    ]),
  );
  const push = new PushReceivers({ allowPrivate });
  let runtime: Runtime | undefined;

  /** The event of a delivery, and the message about it; `undefined` if the event is not for the receiver. */
  async function toMessage(
    { to, run_id: runId, event: id }: Delivery,
    deliveryRun: RunId,
  ): Promise<ToSend | undefined> {
    const endpoint = receivers.get(to);
    if (endpoint === undefined) return undefined;
    await checkOwner(DEFAULT_OWNER, deliveryRun);
    const seen = seenBy(served(), endpoint.owner);
    const { agent } = await seen.run(runId);
    const address = { kind: "run", runId: runId as RunId, agent } as const;
    const { events } = await seen.read(address, { after: id - 1, limit: 1, filter: { level: "all" } });
    const [text] = events;
    const event = text === undefined ? undefined : (JSON.parse(text) as Event);
    const topic = event?.id === id ? topicFor(endpoint, agent, event) : undefined;
    if (event === undefined || topic === undefined) return undefined;
    const data = { agent, run_id: runId, request_id: event.request_id, event_id: id };
    const isSmall = (text?.length ?? 0) <= EVENT_LENGTH;
    return {
      at: Date.parse(event.ts),
      receiver: endpoint.receiver,
      message: {
        id: await toMessageId(to, runId, id),
        body: JSON.stringify({
          type: TYPES[topic],
          timestamp: event.ts,
          data: isSmall ? { ...data, event } : data,
        }),
      },
    };
  }

  /** The runtime; after a restart open deliveries go on before the server listens. */
  function served(): Runtime {
    if (runtime === undefined) throw new AgentError("unavailable", "the webhooks are not served yet");
    return runtime;
  }

  /** Deliveries tell of runs of an owner, or of all owners, so that a user of another owner must not request one. */
  async function checkOwner(owner: string, deliveryRun: RunId): Promise<void> {
    if (await canSee(seenBy(served(), owner), deliveryRun)) return;
    throw new AgentError("forbidden", `only the owner ${owner} may have webhooks sent`, {
      hint: "an operator sends the request to the run of the delivery",
    });
  }

  /** Sends the message of a delivery once. A log that is away counts as a failure that passes. */
  async function attempt(find: FindMessage, turn: Turn): Promise<Attempt> {
    const once = async (signal: AbortSignal): Promise<Attempt> => {
      try {
        const found = await find();
        if (found === undefined) return { status: 0 };
        const { receiver, message, at } = found;
        return { ...(await deliver(receiver, message, signal)), at };
      } catch (thrown) {
        if (isInstance(thrown, AgentError) && thrown.code !== "unavailable") throw thrown;
        return { error: messageOf(thrown) };
      }
    };
    try {
      // The receiver knows a repeated message by its id.
      const options = { effect: "idempotent" } as const;
      return await turn.effect("deliver", async ({ signal }) => ({ ...(await once(signal)) }), options);
    } catch (thrown) {
      if (!isInstance(thrown, AgentError) || thrown.code !== "interrupted") throw thrown;
      return { error: "the server was killed during several attempts" };
    }
  }

  /** Tries until the receiver has taken the message, or a day is over since its event, or since a person has asked for it. */
  async function send(to: string, find: FindMessage, turn: Turn, isAgain: boolean): Promise<Delivered> {
    let since = turn.now();
    for (let count = 1; ; count += 1) {
      const outcome = await attempt(find, turn);
      if (isDelivered(outcome)) return { attempts: count, status: outcome.status ?? 0 };
      if (outcome.status === 0)
        throw new AgentError("not_found", "the event is gone, or not for this webhook");
      // Behind one that was not taken for a day there is no second day for the next one.
      if (!isAgain && outcome.at !== undefined) since = outcome.at;
      const pauseMs = pauseAfter(count) * (0.8 + turn.random() * 0.4);
      if (turn.now() + pauseMs > since + TRIED_FOR_MS) {
        throw new AgentError("unavailable", `${to} has not taken the message: ${toText(outcome)}`);
      }
      await turn.sleep(pauseMs);
    }
  }

  function sendEvent(input: Delivery, turn: Turn, isAgain: boolean): Promise<Delivered> {
    if (!receivers.has(input.to)) throw new AgentError("not_found", `there is no webhook ${input.to}`);
    return send(input.to, () => toMessage(input, turn.self.run_id), turn, isAgain);
  }

  const agent = defineAgent({
    name: WEBHOOK_AGENT,
    purpose: "Sends events of this server to receivers outside.",
    memorySchema: z.array(remembered).default([]),
    operations: (one) => ({
      deliver: one({
        description:
          "Sends the message about an event, for 24 hours from the event on, until the receiver has taken it.",
        input: delivery,
        output: delivered,
        run: (input, turn) => sendEvent(input, turn, false),
      }),
      resend: one({
        description: "Sends the message about an event again, with the same id.",
        input: delivery,
        output: delivered,
        run: (input, turn) => sendEvent(input, turn, true),
      }),
      push: one({
        description: "Sends an event to a receiver that a client has named, as `deliver` does.",
        input: pushDelivery,
        output: delivered,
        async run(input, turn) {
          const find = async (): Promise<ToSend | undefined> => {
            await checkOwner(input.owner, turn.self.run_id);
            return push.toMessage(input);
          };
          try {
            return await send("the receiver", find, turn, false);
          } finally {
            // Of the deliveries to a receiver the end of the request is the last one.
            if (input.isLast === true)
              await turn.effect("forget", () => push.remove(input, input.to), { effect: "idempotent" });
          }
        },
      }),
      remember: one({
        description: "Remembers a receiver that a client has named for a request, or forgets it.",
        input: z.object({ id: z.string(), hidden: z.string().nullable() }),
        run({ id, hidden }, turn) {
          const others = turn.memory.get().filter((receiver) => receiver.id !== id);
          const added = hidden === null ? [] : [{ id, hidden, since: turn.now() }];
          turn.memory.set([...others, ...added].slice(-RECEIVERS_LIMIT));
        },
      }),
    }),
    mailbox: { capacity: 100 },
  });

  return {
    name: "webhooks",
    agent,
    push,
    async listen(given, { report }) {
      runtime = given;
      push.start(given, agent);
      if (!given.agents.includes(WEBHOOK_AGENT)) {
        throw new AgentError("invalid_request", "the agent of the webhooks is not served", {
          hint: "createRuntime({ agents: [..., hooks.agent] })",
        });
      }
      const topics = [...receivers.values()].flatMap((endpoint) => [...endpoint.topics]);
      const announcer = new Announcer(given, {
        names: [...receivers.keys(), ...(push.isUsed ? [PUSH] : [])],
        types: [...new Set([...topics.map((topic) => EVENTS[topic]), ...(push.isUsed ? PUSHED : [])])],
        async requestsFor(name, ofAgent, event) {
          if (name === PUSH) return PUSHED.includes(event.type) ? requestPush(push, ofAgent, event) : [];
          const endpoint = receivers.get(name);
          if (endpoint === undefined || topicFor(endpoint, ofAgent, event) === undefined) return [];
          const { run_id: runId, id } = event;
          const input = { to: name, run_id: runId, event: id };
          return [
            { operation: "deliver", input, key: `${name}:${runId}`, identity: `${name} ${runId} ${id}` },
          ];
        },
        seenBy: async (runId) => {
          const names = [...(ofOwners.get(undefined) ?? []), ...(push.isUsed ? [PUSH] : [])];
          for (const [owner, own] of ofOwners)
            // A run has one owner.
            if (owner !== undefined && (await canSee(seenBy(given, owner), runId))) return [...names, ...own];
          return names;
        },
        report,
      });
      await announcer.start();
      return {
        address: `${receivers.size} receiver${receivers.size === 1 ? "" : "s"}`,
        close: () => announcer.stop(),
      };
    },
  };
}

const delivery = z.object({
  to: z.string().describe("The name of the webhook."),
  run_id: z.string().describe("The run of the event."),
  event: z.int().min(1).describe("The id of the event."),
});
type Delivery = z.infer<typeof delivery>;

const pushDelivery = z.object({
  owner: z.string().describe("Whose request it is."),
  agent: z.string(),
  runId: z.string(),
  requestId: z.string(),
  event: z.int().min(1).describe("The id of the event."),
  at: z.number().describe("When it was, in milliseconds since 1970."),
  to: z.string().describe("The id of the receiver."),
  isLast: z.boolean().exactOptional().describe("Whether the request has ended with it."),
});

/** What a run remembers of a receiver of a request, which only the server can read. */
const remembered = z.object({ id: z.string(), hidden: z.string(), since: z.number() });

/** Finds what a delivery sends; `undefined` if it is to send nothing. */
type FindMessage = () => Promise<ToSend | undefined>;

/** What became of an attempt, and when its event was. */
interface Attempt extends DeliveryAttempt {
  readonly at?: number;
}

const delivered = z.object({ attempts: z.number(), status: z.number() });
type Delivered = z.infer<typeof delivered>;

const EVENTS: Readonly<Record<WebhookTopic, EventType>> = {
  wait: "WaitForInput",
  end: "RequestCompleted",
  held: "RequestHeld",
  budget: "WaitForInput",
};

/** The type of a message, as Standard Webhooks writes types. */
const TYPES: Readonly<Record<WebhookTopic, string>> = {
  wait: "request.waiting",
  end: "request.completed",
  held: "request.held",
  budget: "request.over_budget",
};

/** The topic of an event for a receiver; `undefined` if the receiver does not want it. */
function topicFor({ topics, agents }: Endpoint, agent: string, event: Event): WebhookTopic | undefined {
  if (agents !== undefined && !agents.has(agent)) return undefined;
  const isOverBudget = event.type === "WaitForInput" && event.budget !== undefined;
  if (isOverBudget && topics.has("budget")) return "budget";
  return [...topics].find((topic) => topic !== "budget" && EVENTS[topic] === event.type);
}

/** A larger event is left to the receiver to read. */
const EVENT_LENGTH = 262_144;

const TRIED_FOR_MS = 86_400_000;

/** The pause after a failed attempt, in milliseconds: 5 s, doubled each time, up to two hours. */
function pauseAfter(attempt: number): number {
  return Math.min(5_000 * 2 ** (attempt - 1), 7_200_000);
}

function toText({ status, error }: DeliveryAttempt): string {
  return error ?? `it answers ${status}`;
}

async function toMessageId(to: string, runId: string, event: number): Promise<string> {
  return `msg_${await sha256(`${to} ${runId} ${event}`)}`;
}

interface Endpoint {
  readonly receiver: Receiver;
  readonly topics: ReadonlySet<WebhookTopic>;
  readonly agents: ReadonlySet<string> | undefined;
  readonly owner: string | undefined;
}

/** What announces to the receivers that clients name. No webhook can have this name. */
const PUSH = "@push";

/** The events of which they are told. */
const PUSHED: readonly EventType[] = ["WaitForInput", "RequestCompleted"];

async function requestPush(
  push: PushReceivers,
  agent: string,
  event: Event,
): Promise<readonly Announcement[]> {
  const { run_id: runId, request_id: requestId, id, ts } = event;
  // Of the calls inside a turn only the questions are for the client.
  if (requestId === null || (event.type === "RequestCompleted" && event.depth > 0)) return [];
  const deliveries = await push.deliveriesOf(
    { agent, runId, requestId, event: id },
    { at: Date.parse(ts), isLast: event.type === "RequestCompleted" },
  );
  return deliveries.map(({ owner, key, input }) => ({
    operation: "push",
    owner,
    key,
    input: { ...input },
    identity: `${key} ${id}`,
  }));
}

function nameOf({ name, url }: WebhookOptions): string {
  const found = name ?? (URL.canParse(url) ? new URL(url).hostname.replaceAll(/[^\w.-]/g, "-") : "");
  if (/^[\w.-]{1,64}$/.test(found)) return found;
  throw new AgentError("invalid_request", `the webhook to ${JSON.stringify(url)} has no valid name`, {
    hint: "use 1 to 64 letters, digits and signs of _ - .",
  });
}

function toEndpoint({
  url: text,
  on,
  secret,
  agents,
  owner,
  allowPrivate = false,
}: WebhookOptions): Endpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !(url.protocol === "https:" || (allowPrivate && url.protocol === "http:"))) {
    throw new AgentError(
      "invalid_request",
      `the webhook address ${JSON.stringify(text)} must start with https://`,
    );
  }
  const unknown = on.find((topic) => !Object.hasOwn(EVENTS, topic));
  if (unknown !== undefined || on.length === 0) {
    throw new AgentError("invalid_request", "a webhook needs the topics that it is for", {
      hint: `the topics are ${Object.keys(EVENTS).join(", ")}`,
    });
  }
  if (owner !== undefined && !isOwner(owner)) {
    throw new AgentError("invalid_request", "the owner of a webhook needs 1 to 128 visible ASCII characters");
  }
  return {
    owner,
    receiver: { url, key: toSigningKey(secret), allowPrivate, slots: new Semaphore(AT_ONCE) },
    topics: new Set(on),
    agents: agents && new Set(agents),
  };
}
