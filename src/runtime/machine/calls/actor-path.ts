import type { AnyActorRef } from "xstate";

/** The place of an actor inside a machine: the ids from the machine's children down; empty for the machine itself. */
export type ActorPath = readonly string[];

/** The place of an actor below a root; `undefined` for an actor that is not below it. */
export function toActorPath(actor: AnyActorRef, root: AnyActorRef): ActorPath | undefined {
  const path: string[] = [];
  for (let at = actor; at !== root;) {
    path.push(at.id);
    const { _parent: parent } = at;
    if (parent === undefined) return undefined;
    at = parent;
  }
  return path.toReversed();
}

/** The actor at a place; `undefined` if there is none. */
export function actorAt(path: ActorPath, root: AnyActorRef): AnyActorRef | undefined {
  let actor: AnyActorRef | undefined = root;
  for (const id of path) {
    const { children } = actor.getSnapshot() as { readonly children?: Children };
    actor = children?.[id];
    if (actor === undefined) return undefined;
  }
  return actor;
}

type Children = { readonly [id: string]: AnyActorRef | undefined };
