import { z } from "zod";
import { AgentError, isInstance, messageOf } from "../errors.ts";
import { DEFAULT_OWNER, isOwner } from "../ports/principal.ts";
import type { Listener } from "../node/listener.ts";
import type { Event } from "../protocol/events/events.ts";
import type { EventType } from "../protocol/events/event-body.ts";
import type { RunId } from "../protocol/ids.ts";
import { defineAgent, operation } from "../runtime/agent/definition/define.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import type { Turn } from "../runtime/agent/turn-api.ts";
import type { Runtime } from "../runtime/api.ts";
import { Semaphore } from "../shared/semaphore.ts";
import { sha256 } from "../shared/sha256.ts";
import { Announcer, WEBHOOK_AGENT } from "./announcer.ts";
import { AT_ONCE, deliver, isDelivered, toSigningKey } from "./delivery.ts";
import type { DeliveryAttempt, Receiver, WebhookMessage } from "./delivery.ts";

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

/** Webhooks of a server: an agent whose runs are the deliveries, and the listener that requests them. */
export interface Webhooks extends Listener {
  /** Belongs to the agents of the runtime. Each of its runs has the deliveries of one run to one receiver. */
  readonly agent: Agent;
}

/**
 * Sends events of the log to receivers: at least once, in order for a run, for 24 hours with growing pauses. A delivery is a
 * turn of the agent `webhook`, so it goes on after a restart, is seen as a run, and its operation `resend` sends it again.
 * Start it with the server: `createRuntime({ agents: [..., hooks.agent] })` and `serve(runtime, { listeners: [hooks] })`.
 */
export function createWebhooks(endpoints: readonly WebhookOptions[]): Webhooks {
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
  let runtime: Runtime | undefined;

  /** The event of a delivery, and the message about it; without a message if the event is not for the receiver. */
  async function toMessage(
    { to, run_id: runId, event: id }: Delivery,
    deliveryRun: RunId,
  ): Promise<{ readonly at: number; readonly message: WebhookMessage } | undefined> {
    const endpoint = receivers.get(to);
    if (endpoint === undefined) return undefined;
    // After a restart open deliveries go on before the server listens.
    if (runtime === undefined) throw new AgentError("unavailable", "the webhooks are not served yet");
    // Deliveries are about runs of all owners, so that a user of another owner must not request one.
    if (!(await canSee(seenBy(runtime, DEFAULT_OWNER), deliveryRun))) {
      throw new AgentError("forbidden", `only the owner ${DEFAULT_OWNER} may have webhooks sent`, {
        hint: "an operator sends the request to the run of the delivery",
      });
    }
    const seen = seenBy(runtime, endpoint.owner);
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

  /** Sends the message of a delivery once. A log that is away counts as a failure that passes. */
  async function attempt(delivery: Delivery, { receiver }: Endpoint, turn: Turn): Promise<Attempt> {
    const once = async (signal: AbortSignal): Promise<Attempt> => {
      try {
        const found = await toMessage(delivery, turn.self.run_id);
        if (found === undefined) return { status: 0 };
        return { ...(await deliver(receiver, found.message, signal)), at: found.at };
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
  async function send(delivery: Delivery, turn: Turn, isAgain: boolean): Promise<Delivered> {
    const endpoint = receivers.get(delivery.to);
    if (endpoint === undefined) throw new AgentError("not_found", `there is no webhook ${delivery.to}`);
    let since = turn.now();
    for (let count = 1; ; count += 1) {
      const outcome = await attempt(delivery, endpoint, turn);
      if (isDelivered(outcome)) return { attempts: count, status: outcome.status ?? 0 };
      if (outcome.status === 0)
        throw new AgentError("not_found", "the event is gone, or not for this webhook");
      // Behind one that was not taken for a day there is no second day for the next one.
      if (!isAgain && outcome.at !== undefined) since = outcome.at;
      const pauseMs = pauseAfter(count) * (0.8 + turn.random() * 0.4);
      if (turn.now() + pauseMs > since + TRIED_FOR_MS) {
        throw new AgentError("unavailable", `${delivery.to} has not taken the message: ${toText(outcome)}`);
      }
      await turn.sleep(pauseMs);
    }
  }

  const agent = defineAgent({
    name: WEBHOOK_AGENT,
    purpose: "Sends events of this server to receivers outside.",
    operations: {
      deliver: operation({
        description:
          "Sends the message about an event, for 24 hours from the event on, until the receiver has taken it.",
        input: delivery,
        output: delivered,
        run: (input, turn) => send(input, turn, false),
      }),
      resend: operation({
        description: "Sends the message about an event again, with the same id.",
        input: delivery,
        output: delivered,
        run: (input, turn) => send(input, turn, true),
      }),
    },
    mailbox: { capacity: 100 },
  });

  return {
    name: "webhooks",
    agent,
    async listen(served, { report }) {
      runtime = served;
      if (!served.agents.includes(WEBHOOK_AGENT)) {
        throw new AgentError("invalid_request", "the agent of the webhooks is not served", {
          hint: "createRuntime({ agents: [..., hooks.agent] })",
        });
      }
      const announcer = new Announcer(served, {
        names: [...receivers.keys()],
        types: [
          ...new Set(
            [...receivers.values()].flatMap(({ topics }) => [...topics].map((topic) => EVENTS[topic])),
          ),
        ],
        wants: (name, ofAgent, event) => {
          const endpoint = receivers.get(name);
          return endpoint !== undefined && topicFor(endpoint, ofAgent, event) !== undefined;
        },
        seenBy: async (runId) => {
          const names = [...(ofOwners.get(undefined) ?? [])];
          for (const [owner, own] of ofOwners)
            // A run has one owner.
            if (owner !== undefined && (await canSee(seenBy(served, owner), runId)))
              return [...names, ...own];
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

const SENDER = { id: "webhooks", roles: ["user"] };

/** The runtime with the runs of one owner; without an owner, with all runs. */
function seenBy(runtime: Runtime, owner: string | undefined): Pick<Runtime, "read" | "run"> {
  return owner === undefined ? runtime : runtime.as({ ...SENDER, owner });
}

async function canSee(runtime: Pick<Runtime, "run">, runId: RunId): Promise<boolean> {
  try {
    await runtime.run(runId);
    return true;
  } catch (thrown) {
    if (isInstance(thrown, AgentError) && thrown.code === "not_found") return false;
    throw thrown;
  }
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
