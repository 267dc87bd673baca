import type { Speaker } from "../protocol/encode.ts";
import type { EventBody } from "../protocol/events.ts";
import type { CallId } from "../protocol/ids.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { Schema } from "./agent.ts";

/**
 * What kind of thing a turn waits for. A `root` is the turn itself; `elsewhere` is work that goes on in
 * another place, and a `foreign` call is one that is open there.
 */
export type CallKind =
  | "root"
  | "agent"
  | "effect"
  | "artifact"
  | "completion"
  | "wait"
  | "sleep"
  | "elsewhere"
  | "foreign";

/** A call that has not ended, in the tree of what a turn is doing. */
export class OpenCall {
  readonly callId: CallId;
  readonly kind: CallKind;
  /** The name that its events carry. */
  readonly name: string;
  /** Who made the call, and therefore says how it ended. */
  readonly speaker: Speaker;
  readonly parent: OpenCall | undefined;
  /** Stops whatever works for the call. */
  readonly abort: () => void;
  readonly #children = new Set<OpenCall>();
  #open = true;
  /** The configuration of whoever works for the call. */
  config: JsonObject;
  /** Set while the call waits for another one of its turn before it begins. */
  queued = false;

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
    if (this.parent) this.parent.#children.add(this);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Takes the call out of the tree. Calls under it must have been closed before. */
  close(): void {
    this.#open = false;
    if (this.parent) this.parent.#children.delete(this);
  }

  /** The open calls under this one, deepest first, newest first. */
  *below(): Generator<OpenCall> {
    for (const child of [...this.#children].toReversed()) {
      yield* child.below();
      yield child;
    }
  }

  /** Whether all that goes on under this call is of the given kinds; a call without any under it goes on itself. */
  rests(kinds: ReadonlySet<CallKind>): boolean {
    if (this.queued) return true;
    // A foreign call goes on only while work goes on elsewhere, which is open beside it.
    if (this.#children.size === 0) return kinds.has(this.kind) || this.kind === "foreign";
    for (const child of this.#children) if (!child.rests(kinds)) return false;
    return true;
  }
}

/** What the log is told of a call that ends because nobody needs it any more; `undefined` where that goes without saying. */
export function canceledBody(call: OpenCall): EventBody | undefined {
  return TOOLS.has(call.kind) ? toolCanceled(call) : undefined;
}

/** The calls that are tools in the log. */
const TOOLS: ReadonlySet<CallKind> = new Set(["agent", "effect", "foreign"]);

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
export interface AskedWait {
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: { readonly [key: string]: string };
}

/** A wait that is open in a running turn. */
export interface LiveWait extends AskedWait {
  readonly call: OpenCall;
  readonly schema: Schema<unknown> | undefined;
}
