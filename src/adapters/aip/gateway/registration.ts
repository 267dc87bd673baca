import { toHostPort } from "../rpc/address.ts";
import { Channel } from "../rpc/channel.ts";
import { CallStatus, STATUS } from "../rpc/status.ts";
import type { Library } from "../wire/load.ts";
import type { Peer } from "../wire/messages.ts";
import { infoOf } from "./gateway-node.ts";
import type { CommonInfo, GatewayNode } from "./gateway-node.ts";
import type { Leases } from "./leases.ts";
import type { Registry } from "./registry.ts";

/** How long a new node may take to answer the gateway. */
const DIAL_MS = 5_000;

/** The most bytes of a node's description. */
const DESCRIPTION_BYTES = 262_144;

/** Nodes that register themselves, change their description, send heartbeats and leave. */
export class Registration {
  readonly #library: Library;
  readonly #registry: Registry;
  readonly #leases: Leases;

  constructor(library: Library, registry: Registry, leases: Leases) {
    this.#library = library;
    this.#registry = registry;
    this.#leases = leases;
  }

  /** Adds a node after the gateway has reached it. A failure leaves nothing. */
  async register(peer: Peer): Promise<void> {
    const info = this.#check(peer);
    const release = this.#registry.reserve({ ...info, label: LABELS[info.kind] });
    try {
      const channel = await this.#dial(info);
      this.#put({ id: info.id, kind: info.kind, origin: "registered", peer, channel });
    } finally {
      release();
    }
  }

  /** Replaces the description of a node; dials it if its address is another one. */
  async update(peer: Peer): Promise<void> {
    const info = this.#check(peer);
    const known = this.#registry.get(info.id);
    if (known === undefined) throw new CallStatus(STATUS.notFound, `Node ${info.id} not registered`);
    if (known.origin !== "registered")
      throw new CallStatus(STATUS.permissionDenied, `Node ${info.id} did not register at this gateway`);
    if (known.kind !== info.kind)
      throw new CallStatus(STATUS.invalidArgument, `Node ${info.id} is of another kind`);
    if (infoOf(known.peer)?.address === info.address) {
      this.#put({ ...known, peer });
      return;
    }
    const release = this.#registry.reserve({ ...info, label: LABELS[info.kind] }, known);
    try {
      const channel = await this.#dial(info);
      // It may have left or expired in the meantime.
      if (this.#registry.get(info.id) !== known) {
        channel.close();
        throw new CallStatus(STATUS.notFound, `Node ${info.id} not registered`);
      }
      this.#put({ ...known, peer, channel });
      known.channel?.close();
    } finally {
      release();
    }
  }

  /** Removes a registered node. Returns whether there was one. */
  deregister(id: string): boolean {
    const node = this.#registry.get(id);
    if (node?.origin !== "registered") return false;
    this.#leases.end(id);
    this.#registry.remove(node);
    return true;
  }

  #put(node: GatewayNode): void {
    this.#registry.put(node);
    this.#leases.begin(node.id);
  }

  #check(peer: Peer): CommonInfo {
    const info = infoOf(peer);
    if (info === undefined) throw new CallStatus(STATUS.invalidArgument, "there is no node_info");
    const { id, kind, address } = info;
    if (id === "" || id.length > 256)
      throw new CallStatus(
        STATUS.invalidArgument,
        `the id of the ${kind} is empty or longer than 256 characters`,
      );
    const { port } = toHostPort(address) ?? { port: 0 };
    if (port === 0)
      throw new CallStatus(
        STATUS.invalidArgument,
        `the address of ${id} is "${address}"; it must be HOST:PORT`,
      );
    const { codecs } = this.#library;
    const bytes = codecs.UpdateNodeInfoRequest.encode({ node_info: peer }).length;
    if (bytes > DESCRIPTION_BYTES)
      throw new CallStatus(
        STATUS.resourceExhausted,
        `the description of ${id} has ${bytes} bytes, the maximum is ${DESCRIPTION_BYTES}`,
      );
    return info;
  }

  async #dial({ id, address }: CommonInfo): Promise<Channel> {
    const channel = new Channel(this.#library, address);
    try {
      await channel.ready(DIAL_MS);
      return channel;
    } catch (thrown) {
      channel.close();
      const why = thrown instanceof Error ? thrown.message : "no answer";
      throw new CallStatus(STATUS.unavailable, `the gateway cannot reach ${id}: ${why}`);
    }
  }
}

const LABELS = { agent: "Agent", toolbox: "Tool" } as const;
