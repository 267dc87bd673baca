import { UPDATE } from "../wire/messages.ts";
import type { NodeUpdate, UpdateType } from "../wire/messages.ts";
import type { GatewayNode } from "./gateway-node.ts";

/** A reader of node updates. */
export interface Subscriber {
  readonly id: string;
  /** Whether it is another gateway, which gets no nodes that this one has learned. */
  readonly isGateway: boolean;
  send(update: NodeUpdate): void;
  /** Called when it has unsubscribed from everything. */
  end(): void;
}

/** The subscriptions to changes of nodes. */
export class Updates {
  readonly #subscriptions = new Set<Subscription>();

  get size(): number {
    return this.#subscriptions.size;
  }

  /** Subscribes to some nodes; without ids to all. Returns a function that ends it. */
  subscribe(subscriber: Subscriber, nodeIds: readonly string[]): () => void {
    const subscription = {
      subscriber,
      only: nodeIds.length === 0 ? undefined : new Set(nodeIds),
      except: new Set<string>(),
    };
    this.#subscriptions.add(subscription);
    return () => this.#subscriptions.delete(subscription);
  }

  /** Unsubscribes from some nodes; without ids from all. Returns whether there was such a subscription. */
  unsubscribe(subscriberId: string, nodeIds: readonly string[]): boolean {
    const subscriptions = [...this.#subscriptions].filter(({ subscriber }) => subscriber.id === subscriberId);
    for (const subscription of subscriptions) {
      const { only, except, subscriber } = subscription;
      for (const id of nodeIds) {
        if (only) only.delete(id);
        else except.add(id);
      }
      if (nodeIds.length > 0 && only?.size !== 0) continue;
      this.#subscriptions.delete(subscription);
      subscriber.end();
    }
    return subscriptions.length > 0;
  }

  publish({ id, origin, peer }: GatewayNode, type: UpdateType): void {
    const update = { update_type: type, node_id: id, ...(type !== UPDATE.removed && { peer }) };
    for (const { only, except, subscriber } of this.#subscriptions) {
      const isWanted = only ? only.has(id) : !except.has(id);
      if (isWanted && !(origin === "learned" && subscriber.isGateway)) subscriber.send(update);
    }
  }

  /** Ends all subscriptions. */
  close(): void {
    for (const { subscriber } of this.#subscriptions) subscriber.end();
    this.#subscriptions.clear();
  }
}

interface Subscription {
  readonly subscriber: Subscriber;
  /** The ids it wants; absent: all but those in `except`. */
  readonly only: Set<string> | undefined;
  readonly except: Set<string>;
}
