import { AgentError } from "../../errors.ts";
import { isKey } from "../../protocol/ids.ts";
import type { RunId } from "../../protocol/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { Agent, Messages, Operations } from "./agent.ts";

/** An actor that a turn can ask and tell. Made by `turn.actor`, because an input must not choose the agent. */
export interface ActorAddress<Ops extends Operations = Operations, Accepted extends Messages = Messages> {
  readonly agent: Agent<Ops, Accepted>;
  /** The key of its run, which the first request creates. */
  readonly key?: string;
  /** The id of its run, if it is not addressed by key. */
  readonly runId?: RunId;
}

/**
 * What `turn.actor` takes as the second argument: a key, or an address that was received as data. What is missing in an address may be
 * `undefined`, as the schema of an input has it.
 */
export type ActorPlace =
  | string
  | {
      readonly agent?: string | undefined;
      readonly key?: string | undefined;
      readonly run_id: RunId;
      readonly server?: string | undefined;
    };

/** Makes an address; throws `invalid_request` for a wrong key, and for an address of another agent. */
export function toActorAddress<Ops extends Operations, Accepted extends Messages>(
  agent: Agent<Ops, Accepted>,
  place: ActorPlace,
): ActorAddress<Ops, Accepted> {
  const address = toAddress(agent, place);
  MADE.add(address);
  return address;
}

/** Throws `invalid_request` for a value that `turn.actor` did not make. */
export function checkAddress(value: unknown, what: string): asserts value is ActorAddress {
  if (isObject(value) && MADE.has(value)) return;
  throw new AgentError("invalid_request", `the actor of ${what} is not one that turn.actor returned`, {
    hint: "use turn.actor(agent, key), or turn.actor(agent, ref) with an address that was received",
  });
}

const MADE = new WeakSet<object>();

function toAddress<Ops extends Operations, Accepted extends Messages>(
  agent: Agent<Ops, Accepted>,
  place: ActorPlace,
): ActorAddress<Ops, Accepted> {
  if (typeof place === "string") return { agent, key: checkedKey(place) };
  if (!isObject(place)) throw refuse("the address of an actor is neither a key nor an address");
  const { agent: name, key, run_id: runId, server } = place as Partial<typeof place>;
  if (name !== undefined && name !== agent.name)
    throw refuse(`the address is one of agent ${name}, not of ${agent.name}`);
  if (server !== undefined && agent.remote === undefined)
    throw refuse(`the address of ${agent.name} is one on another server`);
  // A key finds the actor also after its run was removed and created again.
  if (key !== undefined) return { agent, key: checkedKey(key) };
  if (typeof runId !== "string") throw refuse("the address of an actor has neither a key nor a run_id");
  return { agent, runId };
}

function checkedKey(key: unknown): string {
  if (typeof key === "string" && isKey(key)) return key;
  throw refuse("the key of an actor must have 1 to 128 letters, digits and signs of _ - . : @");
}

function refuse(message: string): AgentError {
  return new AgentError("invalid_request", message);
}
