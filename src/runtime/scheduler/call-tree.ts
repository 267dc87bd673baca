import type { Speaker } from "../../protocol/events/encode.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Schema } from "../agent/agent.ts";
import type { LoggedWait } from "../replay/turn-journal.ts";
import type { ParkReason } from "./parked-calls.ts";
import type { HeldSlot } from "./slot-queue.ts";
import { newCounts } from "./turn-counts.ts";
import type { TurnCounts } from "./turn-counts.ts";

/**
 * The kind of an open call. A `root` is the turn itself, `remote` is the work of an agent on another server, and a
 * `remoteCall` is a call that is open there. `ask` and `tell` are requests to other actors. A `pause` is the time between two
 * attempts of the call above it.
 */
export type OpenCallKind =
  | "root"
  | "agent"
  | "effect"
  | "artifact"
  | "completion"
  | "wait"
  | "sleep"
  | "pause"
  | "receive"
  | "remote"
  | "remoteCall"
  | "ask"
  | "tell";

/** An open call in the call tree of a turn. */
export class OpenCall {
  readonly callId: CallId;
  readonly kind: OpenCallKind;
  /** The name in its events. */
  readonly name: string;
  /** The actor that made the call. Its events carry the result. */
  readonly speaker: Speaker;
  readonly parent: OpenCall | undefined;
  /** Stops the work for the call. */
  readonly abort: () => void;
  /** False once it is closed, or its turn is passivated. Changed only by `close`. */
  open: boolean;
  #children: Set<OpenCall> | undefined;
  readonly #counts: TurnCounts;
  #queued = false;
  #isParked: boolean;
  #isCounted = false;
  /** What happens when it is closed. */
  #atClose: (() => void)[] | undefined;
  /** The configuration of the called agent. */
  config: JsonObject;
  /** The idempotency key for what the call changes outside: its id, or that of the first attempt. */
  key: CallId;
  /** Its slot in the queue of its tool, if it has one. */
  slot: HeldSlot | undefined;
  /** What it waits for from outside its turn, if it does. */
  waitsFor: ParkReason | undefined;
  /** Whether that lasts so long that its turn may leave memory meanwhile. */
  isLong: boolean;
  /** When this process has opened it, in milliseconds of `monotonic`. */
  openedMs: number;
  /** Its deadline if it does not wait for anything outside itself, in milliseconds since 1970. */
  deadline: number | undefined;

  constructor(options: {
    readonly callId: CallId;
    readonly kind: OpenCallKind;
    readonly name: string;
    readonly speaker: Speaker;
    readonly parent?: OpenCall;
    /** The counts of its turn, for the root. */
    readonly counts?: TurnCounts;
    /** Default: the configuration of its parent. */
    readonly config?: JsonObject;
    readonly abort?: () => void;
  }) {
    this.callId = options.callId;
    this.key = options.callId;
    this.slot = undefined;
    this.waitsFor = undefined;
    this.isLong = false;
    this.openedMs = 0;
    this.deadline = undefined;
    this.kind = options.kind;
    this.name = options.name;
    this.speaker = options.speaker;
    this.parent = options.parent;
    this.open = options.parent?.open ?? true;
    this.config = options.config ?? options.parent?.config ?? {};
    this.abort = options.abort ?? (() => {});
    this.#isParked = PARKED_KINDS.has(options.kind);
    if (this.parent) {
      this.#counts = this.parent.#counts;
      this.parent.#adopt(this);
    } else {
      this.#counts = options.counts ?? newCounts();
    }
    this.#count();
  }

  /** Whether the call waits for another call of its turn before it starts. */
  set queued(isQueued: boolean) {
    this.#queued = isQueued;
    this.#count();
  }

  /** The call waits for something from outside its turn from now on; waits and sleeps do so from their start. */
  park(): void {
    if (this.#isParked) return;
    this.#isParked = true;
    this.#count();
  }

  /** Frees the slots of the calls above until this call, which waits for something from outside, is closed. */
  freeSlots(): void {
    for (let above = this.parent; above; above = above.parent) {
      const { slot } = above;
      if (slot === undefined) continue;
      slot.pause();
      this.whenClosed(() => slot.resume());
    }
  }

  /** Calls a function once, when the call is closed. */
  whenClosed(run: () => void): void {
    (this.#atClose ??= []).push(run);
  }

  /** Removes the call from the tree, together with closed calls under it. */
  close(): void {
    this.open = false;
    this.#count();
    const atClose = this.#atClose;
    this.#atClose = undefined;
    for (const run of atClose ?? []) run();
    if (this.parent === undefined) return;
    this.parent.#children?.delete(this);
    this.parent.#count();
  }

  /** The open child call with an id. */
  child(callId: CallId): OpenCall | undefined {
    for (const child of this.#children ?? []) if (child.callId === callId) return child;
    return undefined;
  }

  /** The open calls under this one, deepest first, newest first. */
  *below(): Generator<OpenCall> {
    if (this.#children === undefined) return;
    for (const child of [...this.#children].toReversed()) {
      yield* child.below();
      yield child;
    }
  }

  #adopt(child: OpenCall): void {
    (this.#children ??= new Set()).add(child);
    this.#count();
  }

  /** Counts the call if it works itself: it has started, is not parked, and has no open child call. */
  #count(): void {
    const isCounted = !this.#isParked && this.open && !this.#queued && (this.#children?.size ?? 0) === 0;
    if (isCounted === this.#isCounted) return;
    this.#isCounted = isCounted;
    const change = isCounted ? 1 : -1;
    this.#counts.working += change;
    if (!SENT.has(this.kind)) this.#counts.running += change;
  }
}

/**
 * The calls that are parked from their start. A call on another server is among them, because the work there is a call of kind
 * `remote` beside it.
 */
const PARKED_KINDS: ReadonlySet<OpenCallKind> = new Set(["wait", "sleep", "pause", "receive", "remoteCall"]);

/** The calls that only send something to another actor, again and again until it has room. */
const SENT: ReadonlySet<OpenCallKind> = new Set(["ask", "tell"]);

/** A wait that is open in a running turn. */
export interface LiveWait extends LoggedWait {
  readonly call: OpenCall;
  readonly schema: Schema<unknown> | undefined;
  /**
   * Called instead of an answer that comes after the deadline. Absent for a wait whose end another server decides.
   */
  readonly expire?: () => void;
  /** Called when what it asks for may be there without an answer. */
  readonly look?: () => void;
  /** Called with the values of an answer, in the commit that has it. */
  readonly answered?: (values: JsonObject) => void;
}
