import type { Usage, Event } from "../../protocol/events.ts";
import type { CallId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { RemoteCursor } from "../agent/remote-port.ts";
import type { MachineState } from "../journal/records.ts";
import type { Transcript } from "./transcript.ts";
import type { Signature } from "./signature.ts";

/** How a call of a turn ended. */
export type Outcome =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Of a call of an agent or tool: the same in words. */
      readonly text?: string;
    }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** What a turn's code is told of a call: how it ended, or, if it wants to know, what happens under it. */
export type Delivery =
  | { readonly callId: CallId; readonly outcome: Outcome }
  | { readonly callId: CallId; readonly event: Event };

/** One thing that a scope did, as the log has it. */
export interface Item {
  /** What a replay has to do again. */
  readonly signature: Signature;
  /** Set for something said, whose signature is the bare text: there are so many of them. */
  readonly isText?: true;
  /** What it gave at once: the time, a number, the id of a file. */
  readonly value?: Json;
}

/** A wait that no answer has closed. */
export interface OpenWait {
  readonly waitId: number;
  readonly callId: CallId;
  readonly questions: { readonly [key: string]: string };
  readonly schema?: JsonObject;
}

/** A call that the log has, and who made it. */
export interface LoggedCall {
  readonly callId: CallId;
  readonly name: string;
  readonly agent: string;
  readonly depth: number;
  readonly parentCallId?: CallId;
}

/** A call whose work is done elsewhere, and the agent that does it. */
export interface LoggedRemoteWork {
  readonly agent: string;
  readonly state: RemoteCursor;
}

/** What the log holds of one turn, in the form that a replay needs. */
export interface TurnJournal {
  /** What each scope did, in order. */
  readonly items: ReadonlyMap<string, Item[]>;
  /** How calls ended and what was heard of them, in the order of the log, without those under a call that has ended itself. */
  readonly deliveries: readonly Delivery[];
  readonly outcomes: ReadonlyMap<CallId, Outcome>;
  /** How often each call was tried. */
  readonly attempts: ReadonlyMap<CallId, number>;
  /** How many of those do not count, because another turn may have ended the process. */
  readonly spared: ReadonlyMap<CallId, number>;
  /** The calls that the last start of the turn has tried and that have no outcome. */
  readonly tried: ReadonlySet<CallId>;
  /** When each sleep ends, in milliseconds since 1970. */
  readonly wakeTimes: ReadonlyMap<CallId, number>;
  /** The open waits by call, oldest first. */
  readonly waits: ReadonlyMap<CallId, OpenWait>;
  /** The calls of agents and effects without an outcome, oldest first. */
  readonly openCalls: ReadonlyMap<CallId, LoggedCall>;
  /** What each actor has said, by its call. */
  readonly said: ReadonlyMap<string, Transcript>;
  /** What all completions together cost. */
  readonly usage: Usage;
  /** What calls have left in the memory of the run, by agent. */
  readonly staged: ReadonlyMap<string, Json>;
  /** The calls that are at work on the memory of the run, by agent. */
  readonly holders: ReadonlyMap<string, CallId>;
  /** How the agents were configured that were called. */
  readonly configs: ReadonlyMap<CallId, JsonObject>;
  /** The newest state of each machine. */
  readonly machines: ReadonlyMap<string, MachineState>;
  /** How far each call has come whose work is done elsewhere, by its scope. */
  readonly remote: ReadonlyMap<string, LoggedRemoteWork>;
  /** The calls whose events their callers follow. */
  readonly iterated: ReadonlySet<CallId>;
  /** The id of the newest ResumeWithInput, 0 for none. */
  readonly lastResume: number;
  /** The names of the answers that were given. */
  readonly resumeIds: ReadonlySet<string>;
  readonly canceled: boolean;
  /** The version of the agent when the turn was started. */
  readonly agentVersion: string | undefined;
}

/** The journal of a turn that has only just begun, with an agent of a version. */
export function newJournal(agentVersion: string | undefined): TurnJournal {
  return agentVersion === undefined ? emptyJournal : { ...emptyJournal, agentVersion };
}

/** A journal without anything in it. */
const emptyJournal: TurnJournal = {
  items: new Map(),
  deliveries: [],
  outcomes: new Map(),
  attempts: new Map(),
  spared: new Map(),
  tried: new Set(),
  wakeTimes: new Map(),
  waits: new Map(),
  openCalls: new Map(),
  said: new Map(),
  usage: {},
  staged: new Map(),
  holders: new Map(),
  configs: new Map(),
  machines: new Map(),
  remote: new Map(),
  iterated: new Set(),
  lastResume: 0,
  resumeIds: new Set(),
  canceled: false,
  agentVersion: undefined,
};

/** What two completions cost together. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = (key: keyof Usage): Usage => {
    const total = (a[key] ?? 0) + (b[key] ?? 0);
    return a[key] === undefined && b[key] === undefined ? {} : { [key]: total };
  };
  return { ...sum("input_tokens"), ...sum("output_tokens"), ...sum("cost") };
}

/** The journal in which the attempts of the last start do not count. */
export function withSpared(journal: TurnJournal): TurnJournal {
  if (journal.tried.size === 0) return journal;
  return { ...journal, spared: addSpared(journal.spared, journal.tried), tried: new Set() };
}

/** Counts one more attempt of each call among those that do not count. */
export function addSpared(
  spared: ReadonlyMap<CallId, number>,
  tried: ReadonlySet<CallId>,
): Map<CallId, number> {
  const added = new Map(spared);
  for (const callId of tried) added.set(callId, (added.get(callId) ?? 0) + 1);
  return added;
}
