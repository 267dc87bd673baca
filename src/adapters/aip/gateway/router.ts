import { RunReader } from "../../../view/run-reader.ts";
import { hasUnservedRuns } from "../../../http/routes/unserved.ts";
import type { Runtime } from "../../../runtime/api.ts";
import type { CallerInfo, OperatorReport } from "../rpc/server.ts";
import type { Channel } from "../rpc/channel.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { methodPath } from "../rpc/methods.ts";
import { CallStatus, STATUS, toCallStatus } from "../rpc/status.ts";
import { AgentSession } from "../session/agent-session.ts";
import { Sessions } from "../session/sessions.ts";
import type { OpenSession, PerformSession } from "../session/sessions.ts";
import { executeToolCall } from "../session/tool-call.ts";
import type { Library } from "../wire/load.ts";
import type { AgentMessage, ToolRequest } from "../wire/messages.ts";
import { ForwardedSession } from "./forwarded-session.ts";
import type { GatewayNode } from "./gateway-node.ts";
import type { Leases } from "./leases.ts";
import type { Registry } from "./registry.ts";

export interface GatewayRouterOptions {
  readonly runtime: Runtime;
  readonly library: Library;
  readonly clock: MonotonicClock;
  readonly registry: Registry;
  readonly leases: Leases;
  readonly stream: boolean;
  readonly report: OperatorReport;
}

/** Brings sessions and tool calls to the node that they are for. */
export class GatewayRouter {
  readonly sessions: Sessions;
  readonly #runs: RunReader;
  readonly #options: GatewayRouterOptions;
  /** Aborted when a node is given up, by its connection. */
  readonly #evictions = new WeakMap<Channel, AbortController>();

  constructor(options: GatewayRouterOptions) {
    this.#options = options;
    this.#runs = new RunReader(options.runtime);
    const { library, clock, report } = options;
    this.sessions = new Sessions({
      codecs: library.codecs,
      clock,
      report,
      find: (first) => this.#find(first),
    });
  }

  /** Calls a tool and returns the encoded answer. */
  async callTool(bytes: Buffer, { signal }: CallerInfo): Promise<Buffer> {
    const { library, leases, registry, runtime } = this.#options;
    const request = decode(library, bytes);
    leases.renew(request.sender_id);
    const node = registry.get(request.receiver_id);
    if (node?.kind !== "toolbox") throw new CallStatus(STATUS.notFound, "Receiver not found");
    if (node.channel === undefined)
      return library.codecs.ToolResponse.encode(
        await executeToolCall({ runtime, runs: this.#runs }, request, signal),
      );
    const path =
      node.origin === "learned"
        ? methodPath("GatewayService", "RouteToolCalling")
        : methodPath("ToolService", "CallTool");
    try {
      const answer = await node.channel.pass(path, bytes, signal);
      leases.renew(node.id);
      return answer;
    } catch (thrown) {
      this.#failed(node, thrown);
      throw thrown;
    }
  }

  /** Removes a node that does not answer, and ends its sessions. */
  evict(node: GatewayNode): void {
    const { leases, registry } = this.#options;
    leases.end(node.id);
    registry.remove(node);
    if (node.channel) this.#evictionOf(node.channel).abort();
  }

  async #find({ receiver_id: receiver }: AgentMessage): Promise<PerformSession | undefined> {
    const node = this.#options.registry.get(receiver);
    if (node === undefined && (await hasUnservedRuns(this.#options.runtime, receiver)))
      return (session) => this.#perform(session);
    if (node?.kind !== "agent") return undefined;
    return node.channel === undefined
      ? (session) => this.#perform(session)
      : (session) => this.#forward(session, node);
  }

  async #perform(session: OpenSession): Promise<void> {
    const { runtime, library, clock, leases, stream } = this.#options;
    leases.renew(session.first.sender_id);
    const options = { runtime, runs: this.#runs, codecs: library.codecs, clock, stream };
    await new AgentSession(options, session).run();
  }

  async #forward(session: OpenSession, node: GatewayNode): Promise<void> {
    const { library, clock, leases } = this.#options;
    const { channel, origin } = node;
    if (channel === undefined) return;
    const { sender_id: sender } = session.first;
    leases.renew(sender);
    const service = origin === "learned" ? "GatewayService" : "AgentService";
    try {
      await new ForwardedSession(session, {
        codecs: library.codecs,
        clock,
        channel,
        path:
          service === "GatewayService"
            ? methodPath("GatewayService", "RouteAgentCalling")
            : methodPath("AgentService", "CallAgent"),
        evicted: this.#evictionOf(channel).signal,
        heard: (side) => leases.renew(side === "caller" ? sender : node.id),
      }).run();
    } catch (thrown) {
      this.#failed(node, thrown);
      throw thrown;
    }
  }

  /** Only a node that cannot be reached is given up. The link to another gateway notices that by itself. */
  #failed(node: GatewayNode, thrown: unknown): void {
    if (node.origin === "registered" && toCallStatus(thrown).code === STATUS.unavailable) this.evict(node);
  }

  #evictionOf(channel: Channel): AbortController {
    const eviction = this.#evictions.get(channel) ?? new AbortController();
    this.#evictions.set(channel, eviction);
    return eviction;
  }
}

function decode({ codecs }: Library, bytes: Buffer): ToolRequest {
  try {
    return codecs.ToolRequest.decode(bytes);
  } catch {
    throw new CallStatus(STATUS.invalidArgument, "the request is not a ToolRequest");
  }
}
