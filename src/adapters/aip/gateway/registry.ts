import { CallStatus, STATUS } from "../rpc/status.ts";
import { UPDATE } from "../wire/messages.ts";
import type { Peer } from "../wire/messages.ts";
import { infoOf } from "./gateway-node.ts";
import type { GatewayNode } from "./gateway-node.ts";
import { Updates } from "./updates.ts";

/** The most nodes that a gateway knows. */
const NODES_LIMIT = 1_000;

/** The nodes of a gateway by id. It publishes every change. */
export class Registry {
  readonly updates: Updates = new Updates();
  readonly #nodes = new Map<string, GatewayNode>();
  /** Ids and addresses of registrations that are not complete. */
  readonly #reserved = new Set<string>();

  get(id: string): GatewayNode | undefined {
    return this.#nodes.get(id);
  }

  get isFull(): boolean {
    return this.#nodes.size + this.#reserved.size / 2 >= NODES_LIMIT;
  }

  get all(): readonly GatewayNode[] {
    return [...this.#nodes.values()];
  }

  /**
   * The nodes of a domain; `default` means all. Another gateway does not get the nodes that this one has learned,
   * so that nothing is routed in a circle.
   */
  list(domain: string, { learned }: { readonly learned: boolean }): readonly Peer[] {
    return this.all
      .filter(({ origin }) => learned || origin !== "learned")
      .map(({ peer }) => peer)
      .filter((peer) => domain === "default" || infoOf(peer)?.domain === domain);
  }

  /**
   * Refuses an id or address that is taken, and reserves both until the returned function is called. `id` is the
   * node's present entry if it only changes its address.
   */
  reserve({ id, address, label }: Claim, present?: GatewayNode): () => void {
    if (present === undefined && (this.#nodes.has(id) || this.#reserved.has(`id ${id}`)))
      throw new CallStatus(STATUS.alreadyExists, `${label} [${id}] already registered.`);
    const hasAddress = this.all.some(
      (node) => node !== present && node.origin !== "learned" && infoOf(node.peer)?.address === address,
    );
    if (hasAddress || this.#reserved.has(`address ${address}`))
      throw new CallStatus(STATUS.alreadyExists, `Address [${address}] already registered.`);
    if (this.isFull)
      throw new CallStatus(STATUS.resourceExhausted, `the gateway has ${NODES_LIMIT} nodes, its maximum`);
    this.#reserved.add(`id ${id}`).add(`address ${address}`);
    return () => {
      this.#reserved.delete(`id ${id}`);
      this.#reserved.delete(`address ${address}`);
    };
  }

  /** Adds a node, or replaces the one of the same id. */
  put(node: GatewayNode): void {
    const type = this.#nodes.has(node.id) ? UPDATE.updated : UPDATE.added;
    this.#nodes.set(node.id, node);
    this.updates.publish(node, type);
  }

  /** Removes a node unless another one has its id now. Its open sessions keep the connection until they end. */
  remove(node: GatewayNode): void {
    if (this.#nodes.get(node.id) !== node) return;
    this.#nodes.delete(node.id);
    if (node.origin === "registered") node.channel?.close();
    this.updates.publish(node, UPDATE.removed);
  }
}

/** What a new node wants to have for itself. */
interface Claim {
  readonly id: string;
  readonly address: string;
  /** The word for its kind in a refusal. */
  readonly label: "Agent" | "Tool";
}
