import { AgentError } from "../../errors.ts";
import type { Json } from "../../protocol/json.ts";
import type { Messages } from "../agent/agent.ts";
import { checkAddress, toActorAddress } from "../agent/actor-address.ts";
import type { ActorAddress } from "../agent/actor-address.ts";
import { ENDED } from "../agent/ended.ts";
import { checkTold } from "../agent/resolve-operation.ts";
import { checkPublishable, schemaIn } from "../agent/topic.ts";
import type { Topic } from "../agent/topic.ts";
import type { ToldRequest } from "../agent/turn-api.ts";
import { WATCH } from "../agent/watchers.ts";
import type { WatchBody } from "../agent/watchers.ts";
import { tell } from "./requests.ts";
import type { Sequence } from "./sequence.ts";

/** Begins or ends to watch an actor. */
export async function watch(sequence: Sequence, address: ActorAddress, body: WatchBody): Promise<void> {
  const what = body.on ? "turn.watch" : "turn.unwatch";
  checkAddress(address, what);
  if (address.agent.remote)
    throw new AgentError(
      "invalid_request",
      `${what} cannot reach ${address.agent.name}, which is on another server`,
    );
  checkRequested(sequence, what);
  if (body.on) checkTold(sequence.actor.agent, ENDED);
  await tell(sequence, address, WATCH, body, {});
}

/** Publishes something to a topic. */
export async function publish(
  sequence: Sequence,
  to: Topic<Messages>,
  name: string,
  body: Json,
): Promise<ToldRequest> {
  checkPublishable(name);
  return tell(sequence, addressOf(sequence, to), name, body, {});
}

/** Subscribes the actor to a topic. */
export async function subscribe(
  sequence: Sequence,
  to: Topic<Messages>,
  names: readonly string[],
): Promise<void> {
  checkRequested(sequence, "turn.subscribe");
  const known = sequence.actor.turn.context.agents.topics.known(to);
  if (names.length === 0)
    throw new AgentError("invalid_request", "turn.subscribe needs the name of a publication");
  for (const name of names) {
    schemaIn(known, name);
    checkTold(sequence.actor.agent, name);
  }
  const retains = known.retain === 1 || to.retain === 1;
  const body: WatchBody = { on: true, names: [...new Set(names)], ...(retains && { retain: true }) };
  await tell(sequence, addressOf(sequence, to), WATCH, body, {});
}

/** Ends the subscription of the actor to a topic. */
export async function unsubscribe(sequence: Sequence, from: Topic<Messages>): Promise<void> {
  checkRequested(sequence, "turn.unsubscribe");
  await tell(sequence, addressOf(sequence, from), WATCH, { on: false }, {});
}

function addressOf({ actor }: Sequence, to: Topic<Messages>): ActorAddress {
  const { topicAgent, topics } = actor.turn.context.agents;
  // A copy of a topic is as good as the topic.
  return toActorAddress(topicAgent, topics.known(to).name);
}

/** Throws for a called agent: what its run is told is for the agent of the run. */
function checkRequested({ actor: { agent, depth } }: Sequence, what: string): void {
  if (depth === 0) return;
  throw new AgentError(
    "conflict",
    `agent ${agent.name} was called by another agent; only the requested agent can use ${what}`,
  );
}
