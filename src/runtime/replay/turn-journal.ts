import type { CallErrorCode } from "../../errors.ts";
import type { ActorCallEvent } from "./actor-request.ts";
import type { Usage } from "../../protocol/events/outcome-codes.ts";
import type { Budget } from "../../protocol/events/event-body.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Artifact } from "../agent/turn-api.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";
import type { MachineState } from "../journal/records.ts";
import type { PromptMark } from "./prompts.ts";
import type { Transcript } from "./transcript.ts";
import { textSignature } from "./signature.ts";
import type { Signature } from "./signature.ts";

/** The outcome of a call. */
export type Outcome =
  | {
      readonly ok: true;
      readonly value: Json;
      /** For a call of an agent or tool: the result as text. */
      readonly text?: string;
      /** For a call of an agent or tool: the files that it has published; absent if there are none. */
      readonly files?: readonly Artifact[];
    }
  | { readonly ok: false; readonly code: CallErrorCode; readonly message: string };

/** The outcome of a wait without an answer; the values of an answer are an object. */
export const EXPIRED: Outcome = { ok: true, value: null };

/** The outcome of a canceled call whose end is not an event, for the code that waits for it. */
export const CANCELED_CALL: Outcome = { ok: false, code: "canceled", message: "the call was canceled" };

/** A message to a turn's code: the outcome of a call, or an event under an iterated call. */
export type CallDelivery =
  | { readonly callId: CallId; readonly outcome: Outcome }
  | { readonly callId: CallId; readonly event: Event };

/** A logged step of a scope. A text is a bare string, because texts are so many. */
export type ScopeItem = string | LoggedStep;

/** A logged step other than a text. */
export interface LoggedStep {
  /** The step that replayed code must make at this position. */
  readonly signature: Signature;
  /** The immediate result: the time, a number, or the id of a file. */
  readonly value?: Json;
}

/** The signature of a logged step, for error messages. */
export function toSignature(item: ScopeItem): Signature {
  return typeof item === "string" ? textSignature(item) : item.signature;
}

/** A wait that is open, whether or not its handler is in memory. */
export interface LoggedWait {
  /** The id of its WaitForInput. */
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: { readonly [key: string]: string };
  /** The roles that may answer it. */
  readonly approvers?: readonly string[];
  /** Its deadline, in milliseconds since 1970. */
  readonly expiresAt?: number;
  /** The budget that it asks about. The runtime asks then, and not the code. */
  readonly budget?: Budget;
}

/** A logged call of an agent, a tool or an actor, or a logged effect, and its caller. */
export interface LoggedCall {
  readonly name: string;
  readonly agent: string;
  readonly depth: number;
  readonly parentCallId?: CallId;
  /** The event that made the call, if it asks or tells an actor. */
  readonly sent?: ActorCallEvent;
}

/** A remote call and its agent. */
export interface LoggedRemoteWork {
  readonly agent: string;
  readonly state: RemoteCursor;
}

/** What the log has of one call. Its first entry makes it. */
export class CallRecord {
  readonly callId: CallId;
  /** The start of the call; absent if the log has no ToolCall for it, as for a wait or a sleep. */
  made: LoggedCall | undefined;
  /** The number of its attempts. */
  attempts = 0;
  /** The number of attempts that do not count, because something else may have ended the process. */
  spared = 0;
  /** Whether the call waits for a slot. It has not begun then, so it has done nothing. */
  isQueued = false;
  /** Its deadline, in milliseconds since 1970. */
  deadline: number | undefined;
  /** When its first attempt began, in milliseconds since 1970; only for a completion. */
  triedAt: number | undefined;
  /** The number of its attempts up to the newest one that is known to have failed, so that a crash did not interrupt it. */
  failed = 0;
  /** What its attempts used that have failed or were interrupted; only for a completion. */
  spent: Usage = NOTHING;
  /** When it is tried again after that one, in milliseconds since 1970; absent once the next attempt has begun. */
  retryAt: number | undefined;
  /** The end of a sleep, or of a wait for a message that has one, in milliseconds since 1970. */
  wakeAt: number | undefined;
  /** The names of the messages that it waits for. */
  messages: readonly string[] | undefined;
  /** What it asks the caller of the turn. */
  wait: LoggedWait | undefined;
  /** The configuration of the called agent. */
  config: JsonObject | undefined;
  /** Whether its events are iterated. */
  isIterated = false;
  /** The outcome of the call; absent while it is open. */
  outcome: Outcome | undefined;

  constructor(callId: CallId) {
    this.callId = callId;
  }
}

/** What the log has of one sequence of steps: the handler of a turn or a call, or a branch. */
export interface ScopeRecord {
  /** Its steps, in order; absent if it has none. */
  items?: ScopeItem[];
  /** The number of steps before them that no code makes again; absent for none. */
  skipped?: number;
  /** What its actor has said. */
  transcript?: Transcript;
  /** The newest state of its machine. */
  machine?: MachineState;
  /** The saved state of its work on another server. */
  remote?: LoggedRemoteWork;
  /** The newest prompt of its actor. */
  prompt?: PromptMark;
}

/** The log of one turn in the form that a replay needs. */
export interface TurnJournal {
  /** Whether the turn has just started, so that everything else is empty. */
  readonly isNew: boolean;
  /** The calls, in the order of the log. */
  readonly calls: ReadonlyMap<string, CallRecord>;
  /**
   * The calls without an outcome, in the order of the log, except waits that the replayed code will never reach.
   */
  readonly open: readonly CallRecord[];
  /** The calls that were attempted after the last start and have no outcome. */
  readonly tried: readonly CallRecord[];
  /** The sequences of steps, by their path. */
  readonly scopes: ReadonlyMap<string, ScopeRecord>;
  /** The calls that registered the cleanup steps of the turn, in their order. One that has run has an outcome, a `CleanedUp`. */
  readonly cleanups: readonly CallRecord[];
  /** The number of steps that a replay makes again, by their sequence. */
  readonly steps: ReadonlyMap<string, number>;
  /**
   * The outcomes and iterated events of calls, in the order of the log, without those under an ended call.
   */
  readonly deliveries: readonly CallDelivery[];
  /** The total usage of all completions. */
  readonly usage: Usage;
  /** Staged run memory by agent, written by calls. */
  readonly staged: ReadonlyMap<string, Json>;
  /** The calls that hold the shared run memory, by agent. */
  readonly holders: ReadonlyMap<string, CallId>;
  /** The id of the newest ResumeWithInput or WaitExpired; 0 if there is none. */
  readonly lastResume: number;
  /** The resume ids of the given answers. */
  readonly resumeIds: ReadonlySet<string>;
  /** The version of the agent at the start of the turn. */
  readonly agentVersion: string | undefined;
  /** Whether the turn was begun in a run that this one was forked from. */
  readonly isForked: boolean;
}

/** The journal of a new turn. */
export const NEW_TURN: TurnJournal = {
  isNew: true,
  calls: new Map(),
  open: [],
  tried: [],
  scopes: new Map(),
  cleanups: [],
  steps: new Map(),
  deliveries: [],
  usage: {},
  staged: new Map(),
  holders: new Map(),
  lastResume: 0,
  resumeIds: new Set(),
  agentVersion: undefined,
  isForked: false,
};

/** The number of cleanup steps that have not run. */
export function countCleanups({ cleanups }: TurnJournal): number {
  return cleanups.filter(({ outcome }) => outcome === undefined).length;
}

/** The open waits of a turn that is only in the log, oldest first. */
export function waitsOf({ open }: TurnJournal): readonly LoggedWait[] {
  return open.flatMap(({ wait }) => wait ?? []);
}

/** The journal of a passivated turn after the end of one of its calls. */
export function withOutcome(journal: TurnJournal, callId: CallId, outcome: Outcome): TurnJournal {
  const call = journal.calls.get(callId);
  if (call) call.outcome = outcome;
  return {
    ...journal,
    open: journal.open.filter((open) => open.callId !== callId),
    deliveries: call?.wait?.budget ? journal.deliveries : [...journal.deliveries, { callId, outcome }],
  };
}

/** Adds one attempt that does not count to each call that was attempted after the last start. The first one counts. */
export function spare(tried: Iterable<CallRecord>): void {
  for (const record of tried) if (record.attempts > 1) record.spared += 1;
}

const NOTHING: Usage = {};

/** The usage of an attempt that broke off before it was reported. */
export const INTERRUPTED: Usage = { interrupted_attempts: 1 };

/** Whether the newest attempt of a completion had begun and did not end. */
export function isInterrupted({ attempts, failed, isQueued }: CallRecord): boolean {
  return attempts > failed && !isQueued;
}

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (key: keyof Usage): Usage => {
    const total = (a[key] ?? 0) + (b[key] ?? 0);
    return a[key] === undefined && b[key] === undefined ? {} : { [key]: total };
  };
  return {
    ...sum("input_tokens"),
    ...sum("cached_input_tokens"),
    ...sum("output_tokens"),
    ...sum("reasoning_tokens"),
    ...sum("cost"),
    ...sum("interrupted_attempts"),
  };
}
