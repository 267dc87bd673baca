import { AgentError } from "../../../errors.ts";
import { RunReader } from "../../../view/run-reader.ts";
import type { Runtime } from "../../../runtime/api.ts";
import { checkReachable, parseHostPort } from "../rpc/address.ts";
import type { HostPort } from "../rpc/address.ts";
import { processClock } from "../../../http/process-clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { RpcServer } from "../rpc/server.ts";
import type { OperatorReport } from "../rpc/server.ts";
import { AgentSession } from "../session/agent-session.ts";
import { toAgentInfo } from "../session/own-nodes.ts";
import { Sessions } from "../session/sessions.ts";
import type { OpenSession } from "../session/sessions.ts";
import { loadLibrary } from "../wire/load.ts";
import type { AipTls } from "../wire/load.ts";
import { GatewayMember } from "./gateway-member.ts";

/** What `joinAipGateway` takes. */
export interface JoinAipGatewayOptions {
  /** HOST:PORT of the gateway. */
  readonly gateway: string;
  /** The agents to register. Default: all. */
  readonly agents?: readonly string[];
  /**
   * HOST:PORT to listen on. Each agent has a port of its own: this one and those that follow; with port 0 any free
   * ones. Default `127.0.0.1:0`.
   */
  readonly host?: string;
  /** HOST:PORT by which the gateway reaches the first agent, with the same rule. Default: where it listens. */
  readonly advertise?: string;
  /** Allows to listen where other machines can connect without a certificate of mutual TLS. Default false. */
  readonly insecure?: boolean;
  /** Listens and calls over TLS, the other nodes too. Default: everything is sent as it is. */
  readonly tls?: AipTls;
  /** Sends each text of an agent as it is said. Default false: a quest gets one answer. */
  readonly stream?: boolean;
  /** Gets warnings and faults for the operator. */
  readonly report?: OperatorReport;
  /** Measures heartbeats and pauses. Default: the clock of the system. */
  readonly clock?: MonotonicClock;
}

/** The agents of a runtime as nodes of a gateway. */
export interface AipNode {
  /** HOST:PORT of each agent by its name. */
  readonly addresses: ReadonlyMap<string, string>;
  /** The agents that the gateway does not know any more, or that cannot reach it; they are registered again when that is over. */
  lost(): readonly string[];
  /** Leaves the gateway and ends all sessions with a STOP_RESPONSE; after `graceMs` (default 1 s) they are cut. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Registers agents of a runtime at a gateway. Each has an address of its own, because a gateway refuses the same
 * address twice. Rejects with `unavailable` if the gateway cannot be reached or does not take one of them.
 */
export async function joinAipGateway(runtime: Runtime, options: JoinAipGatewayOptions): Promise<AipNode> {
  const { gateway, agents = runtime.agents, host = "127.0.0.1:0", insecure, tls, stream = false } = options;
  const { clock = processClock, report = () => {} } = options;
  parseHostPort(gateway, "the address of the gateway");
  const listen = parseHostPort(host, "the address of the node");
  const advertised =
    options.advertise === undefined ? undefined : parseHostPort(options.advertise, "`advertise`");
  checkReachable(listen, { insecure, tls });
  for (const agent of agents) runtime.describe(agent);
  if (agents.length === 0) throw new AgentError("invalid_request", "there is no agent to register");

  const library = await loadLibrary(tls);
  const { codecs } = library;
  const runs = new RunReader(runtime);
  const perform = (session: OpenSession): Promise<void> =>
    new AgentSession({ runtime, runs, codecs, clock, stream }, session).run();
  const sessions = new Sessions({
    codecs,
    clock,
    report,
    find: async ({ receiver_id: receiver }) => (agents.includes(receiver) ? perform : undefined),
  });
  const server = new RpcServer(library);
  server.serve("AgentService", { CallAgent: sessions.accept });

  const addresses = new Map<string, string>();
  const members: GatewayMember[] = [];
  const stop = async ({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> => {
    await Promise.all(members.map((member) => member.leave()));
    const stopped = server.stop(graceMs);
    await sessions.stop();
    await stopped;
  };
  try {
    for (const [index, agent] of agents.entries()) {
      const port = await server.listen(portOf(listen, index), report);
      const { host: name, port: first } = advertised ?? { ...listen, port: 0 };
      addresses.set(agent, `${name}:${first === 0 ? port : first + index}`);
    }
    for (const [agent, address] of addresses) {
      const describe = () => toAgentInfo(runtime, agent, address);
      members.push(new GatewayMember({ library, clock, report, gateway, describe }));
    }
    await Promise.all(members.map((member) => member.join()));
  } catch (thrown) {
    await stop({ graceMs: 0 });
    throw thrown;
  }
  return {
    addresses,
    lost: () => agents.filter((_, index) => members[index]?.isLost),
    stop,
  };
}

const GRACE_MS = 1_000;

function portOf({ host, port }: HostPort, index: number): HostPort {
  return { host, port: port === 0 ? 0 : port + index };
}
