import type { AnyStateMachine, AnyStateNode } from "xstate";

/** Maximum length of the name of an event in the log. */
const NAME_LENGTH = 200;

/**
 * The names of a machine's events for people. XState's own events contain ids: the end of a delay reads
 * `after packing`, that of an actor `done fetchPrice` or `error fetchPrice`, and that of a region `done`.
 */
export class EventNames {
  readonly #names = new Map<string, string>();

  constructor({ root, events }: AnyStateMachine) {
    for (const type of events) this.#names.set(type, spawnedName(type));
    this.#collect(root);
  }

  /** The name of an event type. */
  of(type: string): string {
    return (this.#names.get(type) ?? spawnedName(type)).slice(0, NAME_LENGTH);
  }

  #collect(node: AnyStateNode): void {
    const suffix = `.${node.id}`;
    for (const { eventType } of node.after as readonly { readonly eventType: string }[]) {
      const delay = eventType.slice(AFTER.length, eventType.endsWith(suffix) ? -suffix.length : undefined);
      this.#names.set(eventType, `after ${delay}`);
    }
    this.#names.set(`xstate.done.state.${node.id}`, "done");
    for (const { id, src } of node.invoke) {
      const name = typeof src !== "string" || src.startsWith(INLINE) ? id : src;
      for (const [prefix, verb] of ENDS) this.#names.set(`${prefix}${id}`, `${verb} ${name}`);
    }
    for (const state of Object.values(node.states)) this.#collect(state as AnyStateNode);
  }
}

const AFTER = "xstate.after.";
const INLINE = "xstate.invoke.";

const ENDS = [
  ["xstate.done.actor.", "done"],
  ["xstate.error.actor.", "error"],
  ["xstate.snapshot.", "snapshot"],
] as const;

/** The name of an event of an actor that the machine spawned, whose id only the machine knows. */
function spawnedName(type: string): string {
  const end = ENDS.find(([prefix]) => type.startsWith(prefix));
  return end === undefined ? type : `${end[1]} ${type.slice(end[0].length)}`;
}
