import type { RequestId } from "../protocol/ids.ts";
import type { CallView, MachineView, MessageView, RunView, TurnView, WaitView } from "./run-view.ts";

/** A part of a view that a fold may change. */
export type Draft<Part> = { -readonly [Name in keyof Part]: Part[Name] };

/** The key of a call in `RunView.calls`; without a call id that of the turn itself. */
export function callKey(requestId: string, callId: string = ""): string {
  return `${requestId}/${callId}`;
}

/**
 * The next view while it is made. Each part is copied before its first change and then changed in place, so one
 * event costs the same in a small and in a large view, and the view it began with stays as it was.
 */
export class Fold {
  readonly view: Draft<RunView>;
  /** The parts that this fold has made. */
  readonly #own: Set<object> = new Set();

  constructor(from: RunView) {
    this.view = { ...from };
  }

  /** Adds to a list; returns the list to keep. */
  added<Item>(list: readonly Item[], item: Item): readonly Item[] {
    const own = this.#list(list);
    own.push(item);
    return own;
  }

  turn(requestId: RequestId | null): Draft<TurnView> | undefined {
    const { turns } = this.view;
    const index = turns.findLastIndex((turn) => turn.requestId === requestId);
    if (index < 0) return undefined;
    this.view.turns = this.#list(turns);
    return this.#item(this.view.turns, index);
  }

  message(id: number): Draft<MessageView> | undefined {
    const { messages } = this.view;
    const index = messages.findLastIndex((message) => message.id <= id);
    if (messages[index]?.id !== id) return undefined;
    this.view.messages = this.#list(messages);
    return this.#item(this.view.messages, index);
  }

  wait(waitId: number): Draft<WaitView> | undefined {
    const { waits } = this.view;
    const index = waits.findLastIndex((wait) => wait.waitId === waitId);
    if (index < 0) return undefined;
    this.view.waits = this.#list(waits);
    return this.#item(this.view.waits, index);
  }

  call(key: string): Draft<CallView> | undefined {
    const call = this.view.calls.get(key);
    if (call === undefined || this.#own.has(call)) return call;
    return this.setCall({ ...call });
  }

  setCall(call: CallView): Draft<CallView> {
    this.#own.add(call);
    const calls = this.#map(this.view.calls);
    calls.set(call.key, call);
    this.view.calls = calls;
    return call;
  }

  setMachine(key: string, machine: MachineView): void {
    const machines = this.#map(this.view.machines);
    machines.set(key, machine);
    this.view.machines = machines;
  }

  /** Sets the message that the next text of a speaker continues; `undefined` begins a new one. */
  setSpeaking(speaker: string, id: number | undefined): void {
    if (id === undefined && !this.view.speaking.has(speaker)) return;
    const speaking = this.#map(this.view.speaking);
    if (id === undefined) speaking.delete(speaker);
    else speaking.set(speaker, id);
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

  /** An item of a list that this fold has made. */
  #item<Item extends object>(list: readonly Item[], index: number): Draft<Item> | undefined {
    const item = list[index];
    if (item === undefined || this.#own.has(item)) return item;
    const own = { ...item };
    this.#own.add(own);
    (list as Item[])[index] = own;
    return own;
  }
}
