import type * as grpc from "@grpc/grpc-js";
import { backoffMs } from "../../../shared/backoff.ts";
import { Channel } from "../rpc/channel.ts";
import { every, pauseUnlessAborted, within } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { methodPath } from "../rpc/methods.ts";
import { GATEWAY_FIELD } from "../rpc/server.ts";
import { STATUS, toCallStatus } from "../rpc/status.ts";
import type { Library } from "../wire/load.ts";
import { UPDATE } from "../wire/messages.ts";
import type { NodeUpdate, Peer } from "../wire/messages.ts";
import { infoOf } from "./gateway-node.ts";
import type { Registry } from "./registry.ts";

export interface LinkOptions {
  readonly library: Library;
  readonly clock: MonotonicClock;
  readonly registry: Registry;
  /** The id of this gateway. */
  readonly gatewayId: string;
  /** HOST:PORT of the other gateway. */
  readonly address: string;
}

/** How long the other gateway may take to answer. */
const DIAL_MS = 5_000;

/** How often the nodes of a gateway without subscriptions are read. */
const POLL_MS = 10_000;

/** The pause before a broken link is tried again. */
const RETRY = { firstMs: 1_000, mostMs: 30_000 };

/** Keeps the nodes of another gateway reachable through this one. */
export class Link {
  readonly #options: LinkOptions;
  readonly #closed = new AbortController();

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Resolves when the other gateway's nodes are known; rejects if it cannot be reached now. */
  async open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    void this.#keep(resolve, reject);
    await promise;
  }

  close(): void {
    this.#closed.abort();
  }

  async #keep(opened: () => void, failed: (thrown: unknown) => void): Promise<void> {
    const { signal } = this.#closed;
    let isOpen = false;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const connection = new Connection(this.#options);
      try {
        await connection.start();
        failures = 0;
        isOpen = true;
        opened();
        await connection.broken(signal);
      } catch (thrown) {
        if (!isOpen) {
          failed(thrown);
          return;
        }
      } finally {
        connection.end();
      }
      await pauseUnlessAborted(this.#options.clock, backoffMs(RETRY, failures), signal);
    }
  }
}

/** One connection of a link; all nodes that it has learned leave the registry at its end. */
class Connection {
  readonly #options: LinkOptions;
  readonly #channel: Channel;
  readonly #broken = Promise.withResolvers<void>();
  #updates: grpc.ClientReadableStream<NodeUpdate> | undefined;
  #stopPolling = (): void => {};

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#channel = new Channel(options.library, options.address);
  }

  async start(): Promise<void> {
    await this.#channel.ready(DIAL_MS);
    // Updates that arrive before the list are applied after it, so that none is missed.
    const early: NodeUpdate[] = [];
    let apply = (update: NodeUpdate): void => void early.push(update);
    const isSubscribed = await this.#subscribe((update) => apply(update));
    await this.#readAll();
    apply = (update) => this.#apply(update);
    for (const update of early) this.#apply(update);
    if (isSubscribed) return;
    this.#stopPolling = every(this.#options.clock, POLL_MS, () =>
      this.#readAll().catch(() => this.#broken.resolve()),
    );
  }

  /** Resolves when the connection is broken or not wanted any more. */
  async broken(closed: AbortSignal): Promise<void> {
    const stop = (): void => this.#broken.resolve();
    closed.addEventListener("abort", stop);
    if (closed.aborted) stop();
    await this.#broken.promise;
    closed.removeEventListener("abort", stop);
  }

  end(): void {
    this.#stopPolling();
    this.#updates?.cancel();
    for (const node of this.#options.registry.all)
      if (node.channel === this.#channel) this.#options.registry.remove(node);
    this.#channel.close();
  }

  /** Subscribes to updates. Returns false if the gateway does not have subscriptions. */
  async #subscribe(apply: (update: NodeUpdate) => void): Promise<boolean> {
    const { gatewayId } = this.#options;
    const updates = this.#channel.follow(
      methodPath("GatewayService", "SubscribeToUpdates"),
      ["UpdateSubscriptionRequest", "NodeUpdate"],
      { subscriber_id: gatewayId, node_ids: [] },
      { [GATEWAY_FIELD]: gatewayId },
    );
    this.#updates = updates;
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    updates.on("metadata", () => resolve(true));
    updates.on("data", apply);
    // The status follows. Without a listener this event would end the process.
    updates.on("error", () => {});
    updates.on("status", (status: { readonly code: number }) => {
      if (status.code === STATUS.unimplemented) resolve(false);
      else {
        reject(toCallStatus(status));
        this.#broken.resolve();
      }
    });
    // A server that never sends its headers is asked for the list at once, and sends them with its first update.
    return (await within(this.#options.clock, DIAL_MS, promise)) ?? true;
  }

  async #readAll(): Promise<void> {
    const { gatewayId, library, registry } = this.#options;
    const { peers } = await this.#channel.call(
      methodPath("GatewayService", "GetNodes"),
      ["GetNodesRequest", "GetNodesResponse"],
      { agent_id: gatewayId, domain: "default" },
      { [GATEWAY_FIELD]: gatewayId },
    );
    const ids = new Set(peers.map((peer) => infoOf(peer)?.id));
    for (const node of registry.all)
      if (node.channel === this.#channel && !ids.has(node.id)) registry.remove(node);
    const { encode } = library.codecs.UpdateNodeInfoRequest;
    for (const peer of peers) {
      const known = registry.get(infoOf(peer)?.id ?? "");
      if (known && encode({ node_info: known.peer }).equals(encode({ node_info: peer }))) continue;
      this.#learn(peer);
    }
  }

  #apply({ update_type: type, node_id: id, peer }: NodeUpdate): void {
    const { registry } = this.#options;
    const known = registry.get(id);
    if (type !== UPDATE.removed) this.#learn(peer ?? {});
    else if (known?.channel === this.#channel) registry.remove(known);
  }

  /** Adds a node of the other gateway. A node with the same id that is already known wins. */
  #learn(peer: Peer): void {
    const { registry } = this.#options;
    const { id = "", kind = "agent" } = infoOf(peer) ?? {};
    const known = registry.get(id);
    if (id === "" || registry.isFull || (known && known.channel !== this.#channel)) return;
    registry.put({ id, kind, origin: "learned", peer, channel: this.#channel });
  }
}
