import { AgentError } from "../../../errors.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { checkReachable, parseHostPort } from "../rpc/address.ts";
import type { HostPort } from "../rpc/address.ts";
import { processClock } from "../../../http/process-clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { RpcServer } from "../rpc/server.ts";
import type { OperatorReport } from "../rpc/server.ts";
import { TOOLBOX, toAgentInfo, toToolBoxInfo } from "../session/own-nodes.ts";
import { loadLibrary } from "../wire/load.ts";
import type { AipTls, Library } from "../wire/load.ts";
import type { AgentInfo, ToolBoxInfo } from "../wire/messages.ts";
import { Leases } from "./leases.ts";
import { Link } from "./link.ts";
import { Registration } from "./registration.ts";
import { Registry } from "./registry.ts";
import { GatewayRouter } from "./router.ts";
import { toGatewayService, toNodeServices } from "./service.ts";
import type { GatewayParts } from "./service.ts";

/** What `createAipGateway` takes. */
export interface AipGatewayOptions {
  /** HOST:PORT to listen on; port 0 uses any free port. Default `127.0.0.1:0`. */
  readonly host?: string;
  /** HOST:PORT that other nodes use for this gateway; port 0 means its own. Default: the address that it listens on. */
  readonly advertise?: string;
  /** The id of the gateway. Default: a random one. */
  readonly id?: string;
  /** Allows to listen where other machines can connect without a certificate of mutual TLS. Default false. */
  readonly insecure?: boolean;
  /** Listens and calls over TLS, the other nodes too. Default: everything is sent as it is. */
  readonly tls?: AipTls;
  /** Sends each text of an agent as it is said. Default false: a quest gets one answer. */
  readonly stream?: boolean;
  /** Gets warnings and faults for the operator. */
  readonly report?: OperatorReport;
  /** Measures leases and pauses. Default: the clock of the system. */
  readonly clock?: MonotonicClock;
}

/** A gateway of AIP. The runtime's agents are its first nodes. */
export interface AipGateway {
  readonly id: string;
  /** HOST:PORT that other nodes use; known when the gateway has started. */
  readonly address: string;
  /** Starts to listen; `unavailable` if it cannot. */
  start(): Promise<void>;
  /** Ends all sessions with a STOP_RESPONSE; after `graceMs` (default 1 s) other calls are cut. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /** Makes the nodes of another gateway reachable through this one; `unavailable` if it cannot be reached. */
  connect(address: string): Promise<void>;
  /** All nodes. */
  nodes(): readonly (AgentInfo | ToolBoxInfo)[];
  agents(): readonly AgentInfo[];
  toolboxes(): readonly ToolBoxInfo[];
}

/** Makes a gateway for the agents of a runtime and for nodes that register. It listens after `start`. */
export function createAipGateway(runtime: Runtime, options: AipGatewayOptions = {}): AipGateway {
  return new Gateway(runtime, options);
}

const GRACE_MS = 1_000;

function toAddress(advertise: string | undefined, listen: HostPort, bound: number): string {
  const { host, port } = advertise === undefined ? listen : parseHostPort(advertise, "`advertise`");
  return `${host}:${port === 0 || advertise === undefined ? bound : port}`;
}

class Gateway implements AipGateway {
  readonly id: string;
  readonly #runtime: Runtime;
  readonly #options: AipGatewayOptions;
  readonly #clock: MonotonicClock;
  readonly #registry = new Registry();
  readonly #links = new Set<Link>();
  #address = "";
  #started: (GatewayParts & { readonly server: RpcServer }) | undefined;

  constructor(runtime: Runtime, options: AipGatewayOptions) {
    this.#runtime = runtime;
    this.#options = options;
    this.#clock = options.clock ?? processClock;
    this.id = options.id ?? `gateway_${crypto.randomUUID()}`;
    if (options.advertise !== undefined)
      parseHostPort(options.advertise, "the advertised address of the gateway");
    if (runtime.agents.includes(TOOLBOX)) {
      throw new AgentError(
        "invalid_request",
        `an agent is named ${TOOLBOX}, and so is the gateway's toolbox`,
        {
          hint: "give the agent another name",
        },
      );
    }
  }

  get address(): string {
    return this.#address;
  }

  async start(): Promise<void> {
    if (this.#started) return;
    const { host = "127.0.0.1:0", advertise, insecure, tls, report = () => {} } = this.#options;
    const listen = parseHostPort(host, "the address of the gateway");
    checkReachable(listen, { insecure, tls });
    const library = await loadLibrary(tls);
    const parts = this.#createParts(library);
    const server = new RpcServer(library);
    server.serve("GatewayService", toGatewayService(parts));
    const { AgentService, ToolService } = toNodeServices(parts);
    server.serve("AgentService", AgentService);
    server.serve("ToolService", ToolService);
    try {
      const port = await server.listen(listen, report);
      this.#address = toAddress(advertise, listen, port);
    } catch (thrown) {
      parts.leases.close();
      throw thrown;
    }
    addOwnNodes(this.#registry, this.#runtime, this.#address);
    this.#started = { ...parts, server };
  }

  async stop({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    const started = this.#started;
    if (started === undefined) return;
    this.#started = undefined;
    for (const link of this.#links) link.close();
    this.#links.clear();
    started.leases.close();
    this.#registry.updates.close();
    const stopped = started.server.stop(graceMs);
    await started.router.sessions.stop();
    await stopped;
    for (const node of this.#registry.all) this.#registry.remove(node);
  }

  async connect(address: string): Promise<void> {
    parseHostPort(address, "the address of the other gateway");
    if (this.#started === undefined)
      throw new AgentError("conflict", "the gateway has not started", { hint: "call start() first" });
    const { library } = this.#started;
    const options = { library, clock: this.#clock, registry: this.#registry, gatewayId: this.id, address };
    const link = new Link(options);
    this.#links.add(link);
    try {
      await link.open();
    } catch (thrown) {
      this.#links.delete(link);
      throw thrown;
    }
  }

  nodes(): readonly (AgentInfo | ToolBoxInfo)[] {
    return [...this.agents(), ...this.toolboxes()];
  }

  agents(): readonly AgentInfo[] {
    return this.#registry.all.flatMap(({ peer }) => peer.agent_info ?? []);
  }

  toolboxes(): readonly ToolBoxInfo[] {
    return this.#registry.all.flatMap(({ peer }) => peer.toolbox_info ?? []);
  }

  #createParts(library: Library): GatewayParts {
    const { report = () => {}, stream = false } = this.#options;
    const registry = this.#registry;
    const leases = new Leases(this.#clock, (id) => {
      const node = registry.get(id);
      if (node) router.evict(node);
      else leases.end(id);
    });
    const router = new GatewayRouter({
      runtime: this.#runtime,
      library,
      clock: this.#clock,
      registry,
      leases,
      stream,
      report,
    });
    const registration = new Registration(library, registry, leases);
    return { library, registry, leases, router, registration, report };
  }
}

/**
 * Adds the agents of the runtime and the toolbox with their operations. The descriptions are read when they are sent,
 * because those of remote agents change.
 */
function addOwnNodes(registry: Registry, runtime: Runtime, address: string): void {
  for (const id of runtime.agents) {
    registry.put({
      id,
      kind: "agent",
      origin: "own",
      get peer() {
        return { agent_info: toAgentInfo(runtime, id, address) };
      },
    });
  }
  registry.put({
    id: TOOLBOX,
    kind: "toolbox",
    origin: "own",
    get peer() {
      return { toolbox_info: toToolBoxInfo(runtime, address) };
    },
  });
}
