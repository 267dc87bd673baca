import { AgentError } from "../errors.ts";
import type { NodePresence } from "../ports/node-directory.ts";
import type { Json, JsonObject } from "../protocol/json.ts";

/** What nodes tell about a node. */
export type Rumor = LifeRumor | SelfRumor;

/** What the node says about itself: that it has joined, drains or has left. A node of a version before this takes no such rumor. */
export interface SelfRumor {
  readonly state: "said";
  readonly node: string;
  readonly presence: NodePresence;
}

/**
 * Whether a node lives, as of an incarnation of it. Only the node itself begins a new incarnation: to deny that it is suspect
 * (`alive`), or to say that its lease had run out (`back`).
 */
export type LifeRumor =
  | { readonly state: "alive" | "back" | "suspect"; readonly node: string; readonly incarnation: number }
  | {
      readonly state: "dead";
      readonly node: string;
      readonly incarnation: number;
      /** The newest heartbeat of the dead. */
      readonly heartbeat: string;
    };

/** The states of a node, in their order: what a node says about itself is older than what it says in a later one. */
export const STATES: readonly NodePresence["state"][] = ["joining", "active", "draining", "left"];

/** A ping, or a request to ping another node. */
export interface GossipMessage {
  readonly from: string;
  /** The node that it is for: another one may have the address by now. */
  readonly to: string;
  /** That of the sender. */
  readonly incarnation: number;
  /** How many runs say texts on the sender; 0 from one of a version before this. */
  readonly speaking: number;
  readonly rumors: readonly Rumor[];
  /** The node to ping. */
  readonly of?: { readonly node: string; readonly url: string };
}

/** The answer to a message. */
export interface GossipAnswer {
  /** Whether it has arrived at the right node, and that one reaches the table of nodes. */
  readonly taken: boolean;
  /** Whether the node to ping has answered. */
  readonly acked: boolean;
  readonly incarnation: number;
  /** How many runs say texts on the sender; 0 from one of a version before this. */
  readonly speaking: number;
  readonly rumors: readonly Rumor[];
}

/** Whether a message of another node is one of these. */
export function isGossipMessage(data: Json): boolean {
  return typeof data === "object" && data !== null && "gossip" in data;
}

/** Converts a message to plain data. */
export function gossipMessageToWire({ from, to, incarnation, speaking, rumors, of }: GossipMessage): Json {
  const asked = of && { of: [of.node, of.url] };
  return { gossip: { from, to, incarnation, speaking, rumors: rumors.map(rumorToWire), ...asked } };
}

/** Reads a message; `invalid_request` for any other data. */
export function parseGossipMessage(data: Json): GossipMessage {
  const { from, to, incarnation, speaking, rumors, of } = toObject(toObject(data)["gossip"]);
  if (typeof from !== "string" || typeof to !== "string") throw notUnderstood();
  const [node, url] = toList(of);
  return {
    from,
    to,
    incarnation: toNumber(incarnation),
    speaking: toNumber(speaking),
    rumors: toList(rumors).flatMap(toRumor),
    ...(typeof node === "string" && typeof url === "string" && { of: { node, url } }),
  };
}

/** Converts an answer to plain data. */
export function gossipAnswerToWire({ taken, acked, incarnation, speaking, rumors }: GossipAnswer): Json {
  return { taken, acked, incarnation, speaking, rumors: rumors.map(rumorToWire) };
}

/** Reads an answer; one that is not understood is that of a node which has taken nothing. */
export function parseGossipAnswer(data: Json): GossipAnswer {
  const { taken, acked, incarnation, speaking, rumors } = toObject(data);
  return {
    taken: taken === true,
    acked: acked === true,
    incarnation: toNumber(incarnation),
    speaking: toNumber(speaking),
    rumors: toList(rumors).flatMap(toRumor),
  };
}

function rumorToWire(rumor: Rumor): Json {
  if (rumor.state === "said") return [rumor.state, rumor.presence as unknown as Json];
  const { state, node, incarnation } = rumor;
  return [state, node, incarnation, ...(state === "dead" ? [rumor.heartbeat] : [])];
}

/** Reads a rumor; none in place of one that is not understood, because a later version may have more. */
function toRumor(data: Json): readonly Rumor[] {
  const [state, node, incarnation, heartbeat] = toList(data);
  if (state === "said") return toSelfRumors(node);
  if (typeof node !== "string" || typeof incarnation !== "number") return [];
  if (state === "alive" || state === "back" || state === "suspect") return [{ state, node, incarnation }];
  return state === "dead" && typeof heartbeat === "string" ? [{ state, node, incarnation, heartbeat }] : [];
}

/** Reads what a node says about itself; none of a version that does not ping others. */
export function toSelfRumors(data: Json | undefined): readonly SelfRumor[] {
  const { node, url, state, agents, gossip } = toObject(data);
  if (typeof node !== "string" || typeof url !== "string") return [];
  if (typeof agents !== "object" || agents === null) return [];
  if (gossip === undefined || !STATES.some((one) => one === state)) return [];
  return [{ state: "said", node, presence: data as unknown as NodePresence }];
}

function toObject(data: Json | undefined): JsonObject {
  return typeof data === "object" && data !== null && !Array.isArray(data) ? (data as JsonObject) : {};
}

function toList(data: Json | undefined): readonly Json[] {
  return Array.isArray(data) ? (data as readonly Json[]) : [];
}

function toNumber(data: Json | undefined): number {
  return typeof data === "number" ? data : 0;
}

function notUnderstood(): AgentError {
  return new AgentError("invalid_request", "what another node says of the nodes is not understood");
}
