import { AgentError } from "../../../errors.ts";
import { parseHostPort } from "../rpc/address.ts";
import { Channel } from "../rpc/channel.ts";
import { methodPath } from "../rpc/methods.ts";
import { loadLibrary } from "../wire/load.ts";
import type { AipTls, Library } from "../wire/load.ts";
import type { Peer } from "../wire/messages.ts";

/** Where a node is: behind a gateway, or at an address of its own. */
export interface AipTarget {
  /** HOST:PORT of the gateway that knows the node. */
  readonly gateway?: string;
  /** HOST:PORT of the node itself, instead of a gateway. */
  readonly address?: string;
  /** The id of the node. */
  readonly id: string;
  /** Calls over TLS. Default: everything is sent as it is. */
  readonly tls?: AipTls;
}

/** How long a node or gateway may take to accept a connection. */
const CONNECT_MS = 5_000;

/** The connection to a node, made on first use. */
export class NodeConnection {
  readonly id: string;
  readonly #gateway: string | undefined;
  readonly #address: string;
  readonly #tls: AipTls | undefined;
  #channel: Channel | undefined;

  constructor({ gateway, address, id, tls }: AipTarget) {
    if ((gateway === undefined) === (address === undefined)) {
      throw new AgentError(
        "invalid_request",
        `the node ${JSON.stringify(id)} needs a gateway or an address`,
        {
          hint: "give one of both: { gateway: HOST:PORT, id } or { address: HOST:PORT, id }",
        },
      );
    }
    if (typeof id !== "string" || id === "") throw new AgentError("invalid_request", "the node has no id");
    this.id = id;
    this.#gateway = gateway;
    this.#tls = tls;
    this.#address = gateway ?? address ?? "";
    parseHostPort(this.#address, `the address of ${gateway === undefined ? id : "the gateway"}`);
  }

  /** The path of the method for sessions. */
  get sessionPath(): string {
    return this.#gateway === undefined
      ? methodPath("AgentService", "CallAgent")
      : methodPath("GatewayService", "RouteAgentCalling");
  }

  /** The path of the method for tool calls. */
  get toolPath(): string {
    return this.#gateway === undefined
      ? methodPath("ToolService", "CallTool")
      : methodPath("GatewayService", "RouteToolCalling");
  }

  /** Connects; throws `unavailable` if the other side does not answer. */
  async connect(): Promise<{ readonly channel: Channel; readonly library: Library }> {
    const library = await loadLibrary(this.#tls);
    const channel = (this.#channel ??= new Channel(library, this.#address));
    try {
      await channel.ready(CONNECT_MS);
      return { channel, library };
    } catch (thrown) {
      // A failed channel would refuse calls for a while, even if the other side is back.
      if (this.#channel === channel) this.#channel = undefined;
      channel.close();
      throw thrown;
    }
  }

  /** The description of the node that the gateway has; `undefined` without a gateway, or if it does not know the node. */
  async describe(): Promise<Peer | undefined> {
    if (this.#gateway === undefined) return undefined;
    const { channel } = await this.connect();
    const { peers } = await channel.call(
      methodPath("GatewayService", "GetNodes"),
      ["GetNodesRequest", "GetNodesResponse"],
      { agent_id: SENDER, domain: "default" },
    );
    return peers.find(
      ({ agent_info: agent, toolbox_info: toolbox }) => (agent?.agent_id ?? toolbox?.toolbox_id) === this.id,
    );
  }
}

/** The sender id of the calls from here. */
export const SENDER = "troupe";
