import type { Speaker } from "../../protocol/encode.ts";
import type { EventBody } from "../../protocol/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Schema } from "../agent/agent.ts";

/**
 * The kind of an open call. A `root` is the turn itself, `remote` is the work of an agent on another server, and a
 * `remoteCall` is a call that is open there.
 */
export type CallKind =
  | "root"
  | "agent"
  | "effect"
  | "artifact"
  | "completion"
  | "wait"
  | "sleep"
  | "remote"
  | "remoteCall";

/** A call that has not ended, in the tree of what a turn is doing. */
export class OpenCall {
  readonly callId: CallId;
  readonly kind: CallKind;
  /** The name that its events carry. */
  readonly name: string;
  /** The actor that made the call. Its events carry the result. */
  readonly speaker: Speaker;
  readonly parent: OpenCall | undefined;
  /** Stops the work for the call. */
  readonly abort: () => void;
  readonly #children = new Set<OpenCall>();
  readonly #busy: BusyCount;
  #open = true;
  #queued = false;
  #isCounted = false;
  /** The configuration of the agent that works for the call. */
  config: JsonObject;

  constructor(options: {
    readonly callId: CallId;
    readonly kind: CallKind;
    readonly name: string;
    readonly speaker: Speaker;
    readonly parent?: OpenCall;
    /** Default that of its parent. */
    readonly config?: JsonObject;
    readonly abort?: () => void;
  }) {
    this.callId = options.callId;
    this.kind = options.kind;
    this.name = options.name;
    this.speaker = options.speaker;
    this.parent = options.parent;
    this.config = options.config ?? options.parent?.config ?? {};
    this.abort = options.abort ?? (() => {});
    if (this.parent) {
      this.#busy = this.parent.#busy;
      this.parent.#children.add(this);
      this.parent.#count();
    } else {
      this.#busy = { going: 0, timed: 0 };
    }
    this.#count();
  }

  get open(): boolean {
    return this.#open;
  }

  /** Whether the call waits for another call of its turn before it begins. */
  set queued(isQueued: boolean) {
    this.#queued = isQueued;
    this.#count();
  }

  /** Whether all that is open in the whole tree waits for answers of the caller. */
  get onlyWaits(): boolean {
    return this.#busy.going === 0;
  }

  /** Whether all that is open in the whole tree suspends the turn: it waits for answers or sleeps. */
  get onlySuspends(): boolean {
    return this.#busy.timed === 0;
  }

  /** Takes the call out of the tree, and those under it when they are closed too. */
  close(): void {
    this.#open = false;
    this.#count();
    if (this.parent === undefined) return;
    this.parent.#children.delete(this);
    this.parent.#count();
  }

  /** The open call that this one has made, by its id. */
  child(callId: CallId): OpenCall | undefined {
    for (const child of this.#children) if (child.callId === callId) return child;
    return undefined;
  }

  /** The open calls under this one, deepest first, newest first. */
  *below(): Generator<OpenCall> {
    for (const child of [...this.#children].toReversed()) {
      yield* child.below();
      yield child;
    }
  }

  /** Counts the call if it works itself: it has begun and has no open call under it. */
  #count(): void {
    const isCounted = this.#open && !this.#queued && this.#children.size === 0;
    if (isCounted === this.#isCounted) return;
    this.#isCounted = isCounted;
    const step = isCounted ? 1 : -1;
    if (!WAITS.has(this.kind)) this.#busy.going += step;
    if (!SUSPENDS.has(this.kind)) this.#busy.timed += step;
  }
}

/** Counts the working calls of a tree. A tree may have thousands of calls, too many to visit each time. */
interface BusyCount {
  /** The calls that are not waits. */
  going: number;
  /** The calls during which the time of the turn runs. */
  timed: number;
}

// A call on another server is not counted: the work there is a call of kind `remote` beside it.
const WAITS: ReadonlySet<CallKind> = new Set(["wait", "remoteCall"]);
const SUSPENDS: ReadonlySet<CallKind> = new Set(["wait", "sleep", "remoteCall"]);

/** The event that records the cancellation of a call; `undefined` for a call whose end is not recorded. */
export function canceledBody(call: OpenCall): EventBody | undefined {
  return TOOLS.has(call.kind) ? toolCanceled(call) : undefined;
}

/** The calls that are tools in the log. */
const TOOLS: ReadonlySet<CallKind> = new Set(["agent", "effect", "remoteCall"]);

/** How a canceled call of an agent or an effect ends. */
export function toolCanceled({
  callId,
  name,
}: {
  readonly callId: CallId;
  readonly name: string;
}): EventBody {
  return {
    type: "ToolError",
    function_name: name,
    content: `${name} was canceled`,
    code: "canceled",
    tool_call_id: callId,
  };
}

/** A wait that is open, whether or not its handler is in memory. */
export interface Wait {
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: { readonly [key: string]: string };
}

/** A wait that is open in a running turn. */
export interface LiveWait extends Wait {
  readonly call: OpenCall;
  readonly schema: Schema<unknown> | undefined;
}
