import { AgentError, messageOf } from "../../errors.ts";
import { DEFAULT_OWNER } from "../../ports/principal.ts";
import { parsePeerKeys, signClaim } from "../../shared/peer-claim.ts";
import type { PeerClaim } from "../../shared/peer-claim.ts";
import type { Agent } from "../../runtime/agent/agent.ts";
import { defineRemoteAgent } from "../../runtime/agent/definition/remote.ts";
import type { RemoteOperations } from "../../runtime/agent/definition/remote.ts";
import type { RemoteHandler } from "../../runtime/agent/remote-port.ts";
import { RemoteCall } from "./call.ts";
import { abandon } from "./cancel.ts";
import { RemoteDescription } from "../description/description.ts";
import { remoteLimits } from "./settings.ts";
import type { RemoteLimits } from "./settings.ts";
import { decodeState } from "./state.ts";
import { Wire } from "../wire/wire.ts";
import type { WireOptions } from "../wire/wire.ts";

/** What `remoteAgent` takes. */
export interface RemoteAgentOptions extends WireOptions {
  /** The local name of the agent. Default: the last part of its address. */
  readonly name?: string;
  /** The description that is used before the server has sent its own. */
  readonly purpose?: string;
  /** With `run`, the calls of one local run share one remote run and its memory; default `own`. */
  readonly memory?: "own" | "run";
  /** Also sends the turn's `request_metadata`. Default false, because clients put secrets there. */
  readonly metadata?: boolean;
  /**
   * Other origins from which the agent's files may be downloaded. Default: only the origin of its address.
   */
  readonly artifactOrigins?: readonly string[];
  /**
   * Keys that this server shares with the other one, as `TROUPE_PEER_KEYS`: 32 or more characters each, separated by commas. Each
   * request then says, signed with the first, for which principal it is, and the other server takes it as one of that principal (`peers`
   * of `troupe/auth`). Default: it is one of the owner of `token`.
   */
  readonly peerKeys?: string | undefined;
  /** Maximum age of the agent's description in milliseconds. Default 60,000. */
  readonly refreshMs?: number;
  readonly limits?: Partial<RemoteLimits>;
}

/** An agent elsewhere that is defined like this; what it uses is unknown here. */
export type RemoteOf<Definition extends Agent> = Agent<
  Definition["operations"],
  NonNullable<Definition["messages"]>
>;

/**
 * Makes a local agent of one on any server of the protocol. A request or call is performed there and its
 * events are logged here as they happen, including those of deeper agents. Its questions are asked here and
 * its files are stored here. Lost connections, restarts of either side and lost answers lose no event and
 * start no second turn. A fault of the other side ends only that call, with an error.
 *
 * List the agent under `tools` or `uses` of the agent that calls it. Then a cancel reaches the other side
 * even if the process that made the call is gone.
 *
 * With the type of its definition, `remoteAgent<typeof shop>(url)`, its operations and messages are checked like those of a
 * local agent.
 */
export function remoteAgent<Definition extends Agent = Agent<RemoteOperations>>(
  url: string,
  {
    name,
    purpose,
    memory = "own",
    refreshMs = 60_000,
    limits,
    peerKeys,
    ...options
  }: RemoteAgentOptions = {},
): RemoteOf<Definition> {
  const local = name ?? nameOf(url);
  const subject = `agent ${local}`;
  const keys = peerKeys === undefined || peerKeys === "" ? undefined : toKeys(peerKeys, subject);
  /** How its server is asked for a principal. */
  const optionsFor = (claim: PeerClaim | undefined, now: () => number): WireOptions =>
    keys && claim ? asPeer(url, options, { keys, claim, now }) : options;
  const describing = optionsFor(SERVER, Date.now);
  const description = new RemoteDescription(new Wire(url, describing, { subject }), refreshMs);
  const isPeer = keys !== undefined;
  const settings = { ...options, name: local, isPeer, limits: { ...remoteLimits, ...limits } };
  const remote: RemoteHandler = {
    get known() {
      return description.known;
    },
    get keys() {
      return description.keys;
    },
    ready: () => description.ready(),
    perform(asked, session) {
      void description.ready();
      const { environment: clock, principal } = session;
      const wire = new Wire(url, optionsFor(principal, clock.now), { clock, subject });
      return new RemoteCall(wire, asked, session, settings).run();
    },
    abandon(kept, environment) {
      const { requestId, principal } = decodeState(kept);
      const wire = new Wire(url, optionsFor(principal, environment.now), { clock: environment, subject });
      if (requestId !== undefined) void abandon(wire, requestId, settings.limits.cancelMs);
    },
  };
  return defineRemoteAgent({
    name: local,
    purpose: () => description.purpose ?? purpose ?? "A remote agent whose description is not loaded yet.",
    operations: () => description.operations,
    memory,
    readiness: () => description.readiness(local),
    remote,
  });
}

/** Who reads the description of an agent. */
const SERVER: PeerClaim = { id: "server", owner: DEFAULT_OWNER };

/** Signs each request to the origin of an address with for whom it is, in the place of a token. */
function asPeer(
  url: string,
  { fetch: given, token: _token, ...options }: WireOptions,
  { keys, claim, now }: { readonly keys: readonly string[]; readonly claim: PeerClaim; now(): number },
): WireOptions {
  const { origin } = new URL(url);
  return {
    ...options,
    async fetch(input, init) {
      const send = given ?? globalThis.fetch;
      const address = input instanceof Request ? input.url : String(input);
      if (new URL(address).origin !== origin) return send(input, init);
      const headers = new Headers(init?.headers);
      headers.set("authorization", `Bearer ${await signClaim(keys, claim, now())}`);
      return send(input, { ...init, headers });
    },
  };
}

function toKeys(peerKeys: string, subject: string): readonly string[] {
  try {
    return parsePeerKeys(peerKeys);
  } catch (error) {
    throw new AgentError("invalid_request", `${subject}: ${messageOf(error)}`, { cause: error });
  }
}

function nameOf(url: string): string {
  const name = URL.canParse(url)
    ? new URL(url).pathname.split("/").findLast((part) => part !== "")
    : undefined;
  if (name !== undefined) return name;
  throw new AgentError("invalid_request", `the address ${JSON.stringify(url)} contains no agent name`, {
    hint: "give it a local name: remoteAgent(url, { name })",
  });
}
