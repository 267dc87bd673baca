import { isIP } from "node:net";
import type { Push, PushedEvent, PushedRequest, PushReceiver, WritePush } from "../http/push.ts";
import { AgentError, isInstance } from "../errors.ts";
import { wrongField } from "../http/messages/wrong-field.ts";
import { DEFAULT_OWNER } from "../ports/principal.ts";
import { isId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { Agent } from "../runtime/agent/agent.ts";
import { byteLength } from "../runtime/journal/json-limits.ts";
import { receiversKey, WEBHOOK_AGENT } from "../runtime/journal/system-runs.ts";
import type { Runtime } from "../runtime/api.ts";
import { LruMap } from "../shared/lru-map.ts";
import { Semaphore } from "../shared/semaphore.ts";
import { sha256 } from "../shared/sha256.ts";
import { isPublicAddress } from "./address-guard.ts";
import { AT_ONCE } from "./delivery.ts";
import type { ToSend } from "./delivery.ts";
import { seenBy } from "./sender.ts";

/** What a run of the agent `webhook` remembers of a receiver. */
export interface RememberedReceiver {
  readonly id: string;
  /** Its address and what else its wire keeps, which only the server can read. */
  readonly hidden: string;
  /** From when on it is told, in milliseconds since 1970. */
  readonly since: number;
}

/** An event that is sent to a receiver. */
export interface PushDelivery extends PushedEvent {
  readonly owner: string;
  /** When it was, in milliseconds since 1970. */
  readonly at: number;
  /** The id of the receiver. */
  readonly to: string;
  /** Whether the request has ended with it, and so its receivers. Absent in deliveries of earlier versions. */
  readonly isLast?: boolean;
}

/**
 * The receivers that clients of wires name. Those of a request are what a run of the agent `webhook` of the same owner remembers; so
 * they survive restarts, are the same on every node, and are erased with their owner and with the run of the request.
 */
export class PushReceivers implements Push {
  readonly #allowPrivate: boolean;
  readonly #wires = new Map<string, WritePush>();
  /** How many messages are on their way to each host. */
  readonly #slots = new LruMap<string, Semaphore>(HOSTS_LIMIT);
  #served: { readonly runtime: Runtime; readonly agent: Agent } | undefined;

  constructor({ allowPrivate }: { readonly allowPrivate: boolean }) {
    this.#allowPrivate = allowPrivate;
  }

  /** Whether a wire uses it. */
  get isUsed(): boolean {
    return this.#wires.size > 0;
  }

  /** Begins, with the agent whose runs remember the receivers. */
  start(runtime: Runtime, agent: Agent): void {
    this.#served = { runtime, agent };
  }

  addWire(wire: string, write: WritePush): void {
    this.#wires.set(wire, write);
  }

  async set(request: PushedRequest, { id, ...rest }: PushReceiver): Promise<void> {
    if (!isId(id)) throw wrongField("id", "must be 1 to 128 letters, digits and signs of _ - . : ~");
    this.#checkUrl(rest.url);
    if (byteLength(JSON.stringify(rest.details)) > DETAILS_BYTES)
      throw wrongField("details", `must be at most ${DETAILS_BYTES} bytes of JSON`);
    const { runtime } = this.#as(request.owner);
    const known = await this.#remembered(request);
    if (known.length >= RECEIVERS_LIMIT && known.every((receiver) => receiver.id !== id))
      throw wrongField(
        "id",
        `would be that of one receiver more than the ${RECEIVERS_LIMIT} that a request may have`,
      );
    await this.#remember(request, { id, hidden: await runtime.seals.hide(PURPOSE, { ...rest }) });
  }

  async list(request: PushedRequest): Promise<readonly PushReceiver[]> {
    const receivers = await Promise.all(
      (await this.#remembered(request)).map((remembered) => this.#reveal(request, remembered)),
    );
    return receivers.filter((receiver) => receiver !== undefined);
  }

  async remove(request: PushedRequest, id: string): Promise<void> {
    const known = await this.#remembered(request);
    if (known.some((receiver) => receiver.id === id)) await this.#remember(request, { id, hidden: null });
    if ((await this.#remembered(request)).length === 0) await this.#dismiss(request);
  }

  /** Removes the run that remembers the receivers of a request, once there are none. */
  async #dismiss(request: PushedRequest): Promise<void> {
    const { runtime } = this.#as(request.owner);
    const runId = await runtime.find(WEBHOOK_AGENT, await receiversKey(request.requestId));
    if (runId === undefined) return;
    try {
      await runtime.removeRun(runId);
    } catch (thrown) {
      // Another receiver is forgotten or added at this moment, or was the last one.
      if (!isInstance(thrown, AgentError) || !LEFT.includes(thrown.code)) throw thrown;
    }
  }

  /** What is to be sent of an event: to each receiver of its request, in a run of its own. */
  async deliveriesOf(
    { agent, runId, requestId, event }: PushedEvent,
    { at, isLast }: { readonly at: number; readonly isLast: boolean },
  ): Promise<readonly { readonly owner: string; readonly key: string; readonly input: PushDelivery }[]> {
    if (this.#served === undefined) return [];
    const { owner = DEFAULT_OWNER } = await this.#served.runtime.resolve(runId);
    const told = (await this.#remembered({ owner, requestId })).filter(
      ({ since }) => at >= since - CLOCKS_MS,
    );
    return Promise.all(
      told.map(async ({ id: to }) => ({
        owner,
        key: `pushed:${await sha256(JSON.stringify([requestId, to]))}`,
        input: { owner, agent, runId, requestId, event, at, to, isLast },
      })),
    );
  }

  /** The receiver of a delivery and what it is sent now; `undefined` if it is to be sent nothing, or not any more. */
  async toMessage({
    to,
    owner,
    at,
    agent,
    runId,
    requestId,
    event: eventId,
  }: PushDelivery): Promise<ToSend | undefined> {
    const event = { agent, runId, requestId, event: eventId };
    const { runtime } = this.#as(owner);
    const remembered = (await this.#remembered({ owner, requestId: event.requestId })).find(
      ({ id }) => id === to,
    );
    const known = remembered && (await this.#reveal({ owner, requestId: event.requestId }, remembered));
    const written = known && (await this.#wires.get(known.wire)?.(runtime, event, known));
    if (known === undefined || written === undefined) return undefined;
    const url = new URL(known.url);
    const slots = this.#slots.get(url.host) ?? new Semaphore(AT_ONCE);
    this.#slots.set(url.host, slots);
    const id = `msg_${await sha256(JSON.stringify([owner, event.requestId, event.event, to]))}`;
    const receiver = { url, allowPrivate: this.#allowPrivate, slots };
    return { at, receiver, message: { id, ...written } };
  }

  #checkUrl(text: string): void {
    const url = URL.canParse(text) && text.length <= URL_LENGTH ? new URL(text) : undefined;
    const isAllowed = url?.protocol === "https:" || (this.#allowPrivate && url?.protocol === "http:");
    if (url === undefined || !isAllowed)
      throw wrongField("url", "must be an address that starts with https://");
    const host = url.hostname.replace(/^\[|\]$/g, "");
    if (!this.#allowPrivate && isIP(host) !== 0 && !isPublicAddress(host))
      throw wrongField("url", "has an address that is not public");
  }

  /** The runtime of an owner. */
  #as(owner: string): { readonly runtime: Runtime; readonly agent: Agent } {
    // After a restart open deliveries go on before the server listens.
    if (this.#served === undefined) throw new AgentError("unavailable", "the webhooks are not served yet");
    return { ...this.#served, runtime: seenBy(this.#served.runtime, owner) };
  }

  async #remembered(request: PushedRequest): Promise<readonly RememberedReceiver[]> {
    const { runtime } = this.#as(request.owner);
    const runId = await runtime.find(WEBHOOK_AGENT, await receiversKey(request.requestId));
    if (runId === undefined) return [];
    try {
      // It is what the operation `remember` has made.
      return ((await runtime.memory(runId)) ?? []) as unknown as readonly RememberedReceiver[];
    } catch (thrown) {
      // It is being removed, and has its key until that is done.
      if (isInstance(thrown, AgentError) && thrown.code === "gone") return [];
      throw thrown;
    }
  }

  async #remember(request: PushedRequest, input: Json): Promise<void> {
    const { runtime, agent } = this.#as(request.owner);
    await runtime.ask(agent, "remember", input, { key: await receiversKey(request.requestId) });
  }

  async #reveal(
    { owner }: PushedRequest,
    { id, hidden }: RememberedReceiver,
  ): Promise<PushReceiver | undefined> {
    const fields = await this.#as(owner).runtime.seals.reveal(PURPOSE, hidden);
    return fields && { ...(fields as unknown as Omit<PushReceiver, "id">), id };
  }
}

/** How many receivers a request may have. */
export const RECEIVERS_LIMIT = 10;

/** Why a run stays, or is gone already. */
const LEFT: readonly string[] = ["conflict", "forbidden", "gone", "not_found"];

const PURPOSE = "push";
const URL_LENGTH = 2_048;
const DETAILS_BYTES = 8_192;
const HOSTS_LIMIT = 1_000;
/** How much the clocks of nodes may differ. */
const CLOCKS_MS = 60_000;
