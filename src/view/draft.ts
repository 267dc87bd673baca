import type { RequestId } from "../protocol/ids.ts";
import type {
  CallView,
  Change,
  MachineView,
  OpenText,
  PartView,
  RunView,
  TurnView,
  WaitView,
} from "./run-view.ts";

/** A part of a view that may change. */
export type Mutable<Part> = { -readonly [Name in keyof Part]: Part[Name] };

/**
 * The next view while it is made. What the views before it share is copied before its first change; what was made since
 * then is changed in place. So one event costs the same in a small and in a large view, and those views stay as they
 * were.
 */
export class ViewDraft {
  readonly view: Mutable<RunView>;
  /** Collects what the next event changes; `undefined` if the caller does not need it. */
  changes: Change[] | undefined;
  /** The newest event of the view that this one began with; what is newer was made here. */
  readonly #base: number;
  /** The lists, maps and older parts that were copied here. */
  readonly #own: Set<object> = new Set();

  constructor(from: RunView) {
    this.view = { ...from };
    this.#base = from.head;
  }

  /** Adds to a list; returns the list to keep. */
  added<Item>(list: readonly Item[], item: Item): readonly Item[] {
    const own = this.#list(list);
    own.push(item);
    return own;
  }

  turn(requestId: RequestId | null): Mutable<TurnView> | undefined {
    const { view } = this;
    const index = view.turns.findLastIndex((turn) => turn.requestId === requestId);
    return index < 0
      ? undefined
      : this.#item((view.turns = this.#list(view.turns)), index, view.turns[index]?.startedId);
  }

  part(id: number): Mutable<PartView> | undefined {
    const { view } = this;
    const index = view.parts.findLastIndex((part) => part.id <= id);
    return view.parts[index]?.id === id
      ? this.#item((view.parts = this.#list(view.parts)), index, id)
      : undefined;
  }

  wait(waitId: number): Mutable<WaitView> | undefined {
    const { view } = this;
    const index = view.waits.findLastIndex((wait) => wait.waitId === waitId);
    return index < 0 ? undefined : this.#item((view.waits = this.#list(view.waits)), index);
  }

  call(key: string): Mutable<CallView> | undefined {
    const call = this.view.calls.get(key);
    if (call === undefined || call.startedId > this.#base || this.#own.has(call)) return call;
    const own = { ...call };
    this.#own.add(own);
    this.setCall(own);
    return own;
  }

  setCall(call: CallView): void {
    const calls = this.#map(this.view.calls);
    calls.set(call.key, call);
    this.view.calls = calls;
  }

  setMachine(key: string, machine: MachineView): void {
    const machines = this.#map(this.view.machines);
    machines.set(key, machine);
    this.view.machines = machines;
  }

  /** Sets the texts of an actor that may grow. */
  setSpeaking(actor: string, texts: readonly OpenText[]): void {
    if (texts.length === 0 && !this.view.speaking.has(actor)) return;
    const speaking = this.#map(this.view.speaking);
    if (texts.length === 0) speaking.delete(actor);
    else speaking.set(actor, texts);
    this.view.speaking = speaking;
  }

  #list<Item>(list: readonly Item[]): Item[] {
    if (this.#own.has(list)) return list as Item[];
    const own = [...list];
    this.#own.add(own);
    return own;
  }

  #map<Value>(map: ReadonlyMap<string, Value>): Map<string, Value> {
    if (this.#own.has(map)) return map as Map<string, Value>;
    const own = new Map(map);
    this.#own.add(own);
    return own;
  }

  /** An item of a list that was made here, and the event that made the item if it is known. */
  #item<Item extends object>(list: readonly Item[], index: number, madeBy = 0): Mutable<Item> | undefined {
    const item = list[index];
    if (item === undefined || madeBy > this.#base || this.#own.has(item)) return item;
    const own = { ...item };
    this.#own.add(own);
    (list as Item[])[index] = own;
    return own;
  }
}
