import type { CallErrorCode } from "../../errors.ts";
import type { ActorCallEvent } from "./actor-request.ts";
import type { Usage, Event } from "../../protocol/events/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
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
    }
  | { readonly ok: false; readonly code: CallErrorCode; readonly message: string };

/** The outcome of a wait without an answer; the values of an answer are an object. */
export const EXPIRED: Outcome = { ok: true, value: null };

/** The outcome of a canceled call whose end is not an event, for the code that waits for it. */
export const CANCELED_CALL: Outcome = { ok: false, code: "canceled", message: "the call was canceled" };

/** A message to a turn's code: the outcome of a call, or an event under an iterated call. */
export type Delivery =
  | { readonly callId: CallId; readonly outcome: Outcome }
  | { readonly callId: CallId; readonly event: Event };

/** A logged step of a scope. A text is a bare string, because texts are so many. */
export type Item = string | LoggedStep;

/** A logged step other than a text. */
export interface LoggedStep {
  /** What a replay must do again. */
  readonly signature: Signature;
  /** The immediate result: the time, a number, or the id of a file. */
  readonly value?: Json;
}

/** The signature of a logged step, for error messages. */
export function toSignature(item: Item): Signature {
  return typeof item === "string" ? textSignature(item) : item.signature;
}

/** A wait that is open, whether or not its handler is in memory. */
export interface Wait {
  /** The id of its WaitForInput. */
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: { readonly [key: string]: string };
  /** Its deadline, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** A logged call and its caller. */
export interface LoggedCall {
  readonly callId: CallId;
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

/** The log of one turn in the form that a replay needs. */
export interface TurnJournal {
  /** Whether the turn has just started, so that everything else is empty. */
  readonly isNew: boolean;
  /** The steps of each scope, in order. */
  readonly items: ReadonlyMap<string, Item[]>;
  /**
   * The outcomes and iterated events of calls, in the order of the log, without those under an ended call.
   */
  readonly deliveries: readonly Delivery[];
  readonly outcomes: ReadonlyMap<CallId, Outcome>;
  /** The number of attempts of each call. */
  readonly attempts: ReadonlyMap<CallId, number>;
  /** Attempts that do not count, because another turn may have ended the process. */
  readonly spared: ReadonlyMap<CallId, number>;
  /** Calls that were attempted after the last start and have no outcome. */
  readonly tried: ReadonlySet<CallId>;
  /** Calls that waited for a slot and have not begun, so that they surely did nothing. */
  readonly queued: ReadonlySet<CallId>;
  /** The end of each sleep, and of each wait for a message that has one, in milliseconds since 1970. */
  readonly wakeTimes: ReadonlyMap<CallId, number>;
  /** The deadlines of calls, in milliseconds since 1970. */
  readonly deadlines: ReadonlyMap<CallId, number>;
  /** The names of the messages that open calls wait for, oldest first. */
  readonly receives: ReadonlyMap<CallId, string>;
  /** The open waits by call, oldest first. */
  readonly waits: ReadonlyMap<CallId, Wait>;
  /** The calls of agents and effects without an outcome, oldest first. */
  readonly openCalls: ReadonlyMap<CallId, LoggedCall>;
  /** The transcript of each actor, by its call. */
  readonly transcripts: ReadonlyMap<string, Transcript>;
  /** The total usage of all completions. */
  readonly usage: Usage;
  /** Staged run memory by agent, written by calls. */
  readonly staged: ReadonlyMap<string, Json>;
  /** The calls that hold the shared run memory, by agent. */
  readonly holders: ReadonlyMap<string, CallId>;
  /** The configurations of called agents. */
  readonly configs: ReadonlyMap<CallId, JsonObject>;
  /** The newest state of each machine. */
  readonly machines: ReadonlyMap<string, MachineState>;
  /** The saved state of each remote call, by its scope. */
  readonly remote: ReadonlyMap<string, LoggedRemoteWork>;
  /** The newest prompt of each actor, by its call. */
  readonly prompts: ReadonlyMap<CallId, PromptMark>;
  /** Calls whose events are iterated. */
  readonly iterated: ReadonlySet<CallId>;
  /** The id of the newest ResumeWithInput or WaitExpired; 0 if there is none. */
  readonly lastResume: number;
  /** The resume ids of the given answers. */
  readonly resumeIds: ReadonlySet<string>;
  readonly canceled: boolean;
  /** The version of the agent at the start of the turn. */
  readonly agentVersion: string | undefined;
}

/** The journal of a new turn. */
export function newJournal(agentVersion: string | undefined): TurnJournal {
  return agentVersion === undefined ? emptyJournal : { ...emptyJournal, agentVersion };
}

const emptyJournal: TurnJournal = {
  isNew: true,
  items: new Map(),
  deliveries: [],
  outcomes: new Map(),
  attempts: new Map(),
  spared: new Map(),
  tried: new Set(),
  queued: new Set(),
  wakeTimes: new Map(),
  deadlines: new Map(),
  receives: new Map(),
  waits: new Map(),
  openCalls: new Map(),
  transcripts: new Map(),
  usage: {},
  staged: new Map(),
  holders: new Map(),
  configs: new Map(),
  machines: new Map(),
  remote: new Map(),
  prompts: new Map(),
  iterated: new Set(),
  lastResume: 0,
  resumeIds: new Set(),
  canceled: false,
  agentVersion: undefined,
};

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (key: keyof Usage): Usage => {
    const total = (a[key] ?? 0) + (b[key] ?? 0);
    return a[key] === undefined && b[key] === undefined ? {} : { [key]: total };
  };
  return { ...sum("input_tokens"), ...sum("output_tokens"), ...sum("cost") };
}

/** The journal with the attempts of the last start not counted. */
export function withSpared(journal: TurnJournal): TurnJournal {
  if (journal.tried.size === 0) return journal;
  return { ...journal, spared: addSpared(journal.spared, journal.tried), tried: new Set() };
}

/** Adds one uncounted attempt to each call. */
export function addSpared(
  spared: ReadonlyMap<CallId, number>,
  tried: ReadonlySet<CallId>,
): Map<CallId, number> {
  const added = new Map(spared);
  for (const callId of tried) added.set(callId, (added.get(callId) ?? 0) + 1);
  return added;
}
