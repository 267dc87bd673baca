import type { ActorRef, SenderRef, SupervisorStrategy } from "../../protocol/actors.ts";
import type { FinishReason } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import { isObject } from "../../protocol/json.ts";

/** The message by which an actor begins or ends to watch another one, or to subscribe to a topic. No agent can declare it. */
export const WATCH = "$watch";

/** An actor that is told what happens in a run: the ends of its turns, or the publications of a topic. */
export interface WatchingActor {
  readonly ref: ActorRef;
  /** The id of the event from which on it is told; 0 if it was one of the run before. */
  readonly since: number;
  /** Whether it only gets the ends of turns that have failed. */
  readonly failed?: boolean;
  /** What becomes of requests whose turns fail, if it supervises the run. */
  readonly supervise?: SupervisorStrategy;
  /** The names of the publications that it takes, if the run is a topic. */
  readonly names?: readonly string[];
  /** Whether it gets the newest publication of each name first. */
  readonly retain?: boolean;
}

/** The body of a message that begins or ends a watch. */
export type WatchBody =
  | { readonly on: false }
  | {
      readonly on: true;
      readonly failed?: true;
      readonly supervise?: SupervisorStrategy;
      readonly names?: readonly string[];
      readonly retain?: true;
    };

/** The newest publication of a name in a topic. */
export interface Newest {
  readonly name: string;
  /** The id of its event. */
  readonly id: number;
}

/** How many names a topic keeps the newest publication of. */
const NAMES_LIMIT = 100;

/** What identifies an actor among those that watch: its key, or else its run. */
export function actorNameOf({ agent, key, run_id: runId }: ActorRef): string {
  return key === undefined ? `${agent} /${runId}` : `${agent} ${key}`;
}

/** Whether two actors have the same name. It makes no texts: a topic with many subscribers asks for each of them. */
export function isSameActor(one: ActorRef, other: ActorRef): boolean {
  if (one.key !== other.key || one.agent !== other.agent) return false;
  return one.key !== undefined || one.run_id === other.run_id;
}

/** The watchers of a run after a message of one of them. */
export function watched(
  before: readonly WatchingActor[],
  { id, sender, body }: { readonly id: number; readonly sender: SenderRef | undefined; readonly body: Json },
): readonly WatchingActor[] {
  if (sender?.agent === undefined || sender.server !== undefined || !isObject(body)) return before;
  const { agent, key, run_id } = sender;
  const ref: ActorRef = { agent, ...(key !== undefined && { key }), run_id };
  const others = before.filter((watcher) => !isSameActor(watcher.ref, ref));
  const given = body as unknown as WatchBody;
  if (!given.on) return others;
  const { failed, names, retain, supervise } = given;
  const watcher: WatchingActor = {
    ref,
    since: id,
    ...(failed === true && { failed }),
    ...(supervise && { supervise }),
    ...(names && { names }),
    ...(retain === true && { retain }),
  };
  return [...others, watcher];
}

/** The newest publications of a topic after another one. */
export function published(before: readonly Newest[], next: Newest): readonly Newest[] {
  return [...before.filter(({ name }) => name !== next.name), next].slice(-NAMES_LIMIT);
}

/** Whether an actor is to be told that a turn has ended so. */
export function wantsEnd({ names, failed = false }: WatchingActor, reason: FinishReason): boolean {
  return names === undefined && (!failed || reason === "error");
}
