import { isEven, toNumber, toWords } from "./agents.ts";
import type { Ended } from "./agents.ts";
import { isInside } from "./history.ts";
import type { History, Item, Outcome } from "./history.ts";
import type {
  Call,
  ChildCall,
  CompletionCall,
  Programs,
  Retry,
  Step,
  Steps,
  Supervision,
} from "./program.ts";
import type { Json, JsonObject } from "../../src/protocol/json.ts";

/** The memory that a run keeps for its agents. */
export interface Kept {
  readonly root: number | null;
  readonly keeper: number | null;
}

/** The inputs of a request, and the behavior of its remote agents. */
export interface Given {
  /** The attached files, as texts. */
  readonly files?: readonly string[];
  /** The steps of a remote agent, and its end. */
  partOf?(program: number): Part | undefined;
}

/** The steps of a remote agent. */
export interface Part {
  /** Its steps in the form of a history. */
  readonly items: readonly string[];
  /** Whether it ends successfully. */
  readonly ok: boolean;
  readonly value: Json;
}

/** The expected steps of a sequence, given the outcomes of its calls. */
export interface Expected {
  readonly items: readonly string[];
  /** `blocked` if it waits for something that the log does not have. */
  readonly state: "returned" | "threw" | "blocked";
  readonly value: Json;
  readonly memory: number | null;
}

/**
 * Computes the expected history of a turn from its programs and the outcomes of its calls, without any
 * knowledge of the runtime. Also reports what is wrong with a turn.
 */
export class Model {
  readonly #programs: Programs;
  readonly #history: History;
  readonly #kept: Kept;
  readonly #given: Given;
  readonly #scopes = new Map<string, Expected>();
  readonly faults: string[] = [];

  constructor(programs: Programs, history: History, kept: Kept, given: Given = {}) {
    this.#programs = programs;
    this.#history = history;
    this.#kept = kept;
    this.#given = given;
  }

  /** The expected steps of the turn's handler. */
  root(): Expected {
    const [[first, steps] = [0, []]] = this.#programs;
    const { files = [] } = this.#given;
    const { root, configs } = this.#history;
    const place = { scope: root, memory: this.#kept.root, config: levelIn(configs.get(root)), files };
    return this.#sequence(place, steps, first);
  }

  /** The expected steps of every sequence of the turn, including nested ones. */
  scopes(): ReadonlyMap<string, Expected> {
    this.root();
    return this.#scopes;
  }

  /** The run memory after a successful turn. */
  kept(): Kept {
    return { root: this.root().memory, keeper: this.#keeper(Infinity) };
  }

  /** The keeper's memory at a position of the log, after its last success. */
  #keeper(before: number): number | null {
    let memory = this.#kept.keeper;
    for (const [callId, { at: ended, ok }] of this.#history.outcomes) {
      const { name, args } = this.#history.calls.get(callId) ?? {};
      if (name !== "keeper" || !ok || ended >= before) continue;
      const { program } = args as { readonly program: number };
      memory = this.#child(callId, { to: "keeper", program }, null).memory;
    }
    return memory;
  }

  #child(callId: string, { to, program }: ChildCall, callersConfig: Json): Expected {
    const known = this.#scopes.get(callId);
    if (known) return known;
    // It has not started, because another call of its agent is running.
    if (this.#history.queued.has(callId) || this.#history.slotless.has(callId)) return BLOCKED_AT_ONCE;
    const at = this.#history.taken.get(callId) ?? Infinity;
    const isTool = to === "safe" || to === "risky";
    const place = {
      scope: callId,
      memory: to === "keeper" ? this.#keeper(at) : null,
      config: isTool ? callersConfig : levelIn(this.#history.configs.get(callId)),
      files: [],
    };
    return this.#sequence(place, this.#programs.get(program) ?? [], program);
  }

  #sequence(place: Place, steps: Steps, program: number): Expected {
    const sequence = new Sequence(this.#history, place, (...call) => this.#visit(...call));
    const state = sequence.perform(steps, { ok: true, value: program });
    const expected = {
      items: sequence.items,
      state,
      value: { program, last: sequence.last.value },
      memory: sequence.memory,
    };
    this.#scopes.set(place.scope, expected);
    for (const [path, branch] of sequence.branches) this.#scopes.set(path, branch);
    return expected;
  }

  /** Checks a called program, and whether its outcome is possible. */
  #visit(callId: string, call: Call, outcome: Outcome | undefined, config: Json): void {
    const wrong = (what: string): number => this.faults.push(`${callId} (${JSON.stringify(call)}): ${what}`);
    switch (call.to) {
      case "agent":
      case "keeper":
      case "safe":
      case "risky": {
        const child = this.#child(callId, call, config);
        if (outcome === undefined || outcome.code === "canceled") return;
        if (outcome.code === "timeout" && call.timeoutMs !== undefined) return;
        if (outcome.code === "overloaded" && (call.to === "safe" || call.to === "risky")) {
          if (hasItems(this.#history, callId)) wrong("was refused though it had begun");
          return;
        }
        if (outcome.code === "interrupted") {
          if (call.to === "agent" || call.to === "keeper") wrong("is no call to be interrupted");
          if (hasItems(this.#history, callId)) wrong("was interrupted though it was journaled");
          return;
        }
        if (child.state === "blocked") wrong("ended though it must still wait");
        if (outcome.ok !== (child.state === "returned")) wrong(`ended with ${JSON.stringify(outcome)}`);
        if (outcome.ok && JSON.stringify(outcome.value) !== JSON.stringify(child.value))
          wrong(`gave ${JSON.stringify(outcome.value)} and not ${JSON.stringify(child.value)}`);
        return;
      }
      case "effect": {
        if (outcome === undefined || outcome.code === "canceled" || outcome.code === "interrupted") return;
        if (outcome.code === "timeout" && call.timeoutMs !== undefined) return;
        if (outcome.ok === call.fails) wrong(`ended with ${JSON.stringify(outcome)}`);
        if (outcome.ok && outcome.value !== toNumber(call.name))
          wrong(`gave ${JSON.stringify(outcome.value)}`);
        return;
      }
      case "ask":
      case "tell": {
        // What the other actor did is in its own log.
        if (outcome === undefined || outcome.code === "canceled") return;
        if (outcome.code === "timeout" && call.to === "ask" && call.timeoutMs !== undefined) return;
        if (!outcome.ok && (call.to === "tell" || outcome.code !== "tool_error"))
          wrong(`ended with ${JSON.stringify(outcome)}`);
        const { program } = Object(outcome.value) as { readonly program?: number };
        if (outcome.ok && call.to === "ask" && program !== call.program)
          wrong(`gave ${JSON.stringify(outcome.value)}`);
        return;
      }
      case "model": {
        const said = this.#history.words.get(callId) ?? [];
        const words = toWords(call.name, call.words);
        const isWhole = said.length === words.length;
        if (said.some((word, index) => word !== words[index])) wrong(`said ${JSON.stringify(said)}`);
        if (outcome === undefined || outcome.code === "canceled") return;
        if (outcome.ok && (!isWhole || call.fatal || outcome.value !== toNumber(call.name)))
          wrong(`gave ${JSON.stringify(outcome.value)} after ${said.length} words`);
        const attempts = this.#history.attempts.get(callId) ?? 0;
        if (!outcome.ok && !mayFail(call, attempts)) wrong(`failed at attempt ${attempts}`);
        return;
      }
      case "remote": {
        const part = this.#given.partOf?.(call.program);
        if (part === undefined) return;
        const { items, ok, value } = part;
        const state = outcome === undefined ? "blocked" : outcome.ok ? "returned" : "threw";
        const done = this.#history.items.get(callId)?.length ?? 0;
        const isCut = outcome === undefined || outcome.code === "canceled";
        this.#scopes.set(callId, {
          items: isCut ? items.slice(0, done) : items,
          state,
          value,
          memory: null,
        });
        if (isCut) return;
        if (outcome.ok !== ok) wrong(`ended with ${JSON.stringify(outcome)}`);
        if (outcome.ok && JSON.stringify(outcome.value) !== JSON.stringify(value))
          wrong(`gave ${JSON.stringify(outcome.value)} and not ${JSON.stringify(value)}`);
        return;
      }
      default:
        // Only the pause between two attempts can be canceled.
        if (outcome && !outcome.ok && outcome.code !== "canceled")
          wrong(`ended with ${JSON.stringify(outcome)}`);
        return;
    }
  }
}

/** The level that a configuration in the log has. */
export function levelIn({ level = 0 }: JsonObject = {}): Json {
  return level;
}

/** Whether a completion may have ended with an error: a permanent failure, or too many attempts. */
function mayFail({ failures, fatal }: CompletionCall, attempts: number): boolean {
  return (fatal && attempts > failures) || attempts >= LEAST_ATTEMPTS;
}

/** A completion fails only after this many attempts. */
const LEAST_ATTEMPTS = 3;

const BLOCKED_AT_ONCE: Expected = { items: [], state: "blocked", value: null, memory: null };

function hasItems({ items }: History, scope: string): boolean {
  return (items.get(scope)?.length ?? 0) > 0;
}

class Blocked extends Error {}
class Threw extends Error {}

// Created once, because they are thrown often and their stack is not used.
const BLOCKED = new Blocked();
const THREW = new Threw();

type Visit = (callId: string, call: Call, outcome: Outcome | undefined, config: Json) => void;

/** The context of a running sequence. */
interface Place {
  readonly scope: string;
  readonly memory: number | null;
  /** The level in its configuration. */
  readonly config: Json;
  /** The files that it gets. */
  readonly files: readonly string[];
}

/** Walks through the steps of one sequence. */
class Sequence {
  readonly items: string[] = [];
  readonly branches = new Map<string, Expected>();
  readonly #history: History;
  readonly #place: Place;
  readonly #logged: readonly Item[];
  readonly #visit: Visit;
  last: Ended = { ok: true, value: null };
  memory: number | null;

  constructor(history: History, place: Place, visit: Visit) {
    this.#history = history;
    this.#place = place;
    this.#logged = history.items.get(place.scope) ?? [];
    this.memory = place.memory;
    this.#visit = visit;
  }

  perform(steps: Steps, before: Ended): Expected["state"] {
    this.last = before;
    try {
      this.#steps(steps);
      return "returned";
    } catch (thrown) {
      if (thrown instanceof Blocked) return "blocked";
      if (thrown instanceof Threw) return "threw";
      throw thrown;
    }
  }

  #steps(steps: Steps): void {
    const started = new Map<number, Waiting>();
    for (const step of steps) this.#step(step, started);
  }

  #step(step: Step, started: Map<number, Waiting>): void {
    switch (step.do) {
      case "text":
        this.items.push(`text ${step.content} ${JSON.stringify(this.last)}`);
        return;
      case "call":
        this.last = toEnded(this.#wait([this.#issue(step.call)], "all"), true);
        return;
      case "start":
        started.set(step.slot, this.#issue(step.call, true));
        return;
      case "join": {
        const waiting = started.get(step.slot);
        if (waiting) this.last = toEnded(this.#wait([waiting], "all"), true);
        return;
      }
      case "cancel":
        return;
      case "together":
        this.last = toEnded(
          this.#wait(
            step.calls.map((call) => this.#issue(call, true)),
            "all",
          ),
          false,
        );
        return;
      case "race":
        this.last = toEnded(
          this.#wait(
            step.calls.map((call) => this.#issue(call, true)),
            "first",
          ),
          true,
        );
        return;
      case "follow":
        this.#follow(step);
        return;
      case "all":
        this.#all(step.branches);
        return;
      case "choose":
        this.#steps(isEven(this.last) ? step.even : step.odd);
        return;
      case "now":
      case "random":
      case "received": {
        const what = toImmediate(step);
        this.items.push(what);
        const logged = this.#logged[this.items.length - 1];
        if (logged === undefined) throw BLOCKED;
        this.last = { ok: true, value: logged.value ?? null };
        return;
      }
      case "remember":
        this.memory = step.value;
        return;
      case "recall":
        this.last = { ok: true, value: this.memory };
        return;
      case "config":
        this.items.push(`text level ${JSON.stringify(this.#place.config)}`);
        this.last = { ok: true, value: this.#place.config };
        return;
      case "attached":
        this.last = { ok: true, value: this.#place.files };
        return;
      case "breathe":
        return;
      case "fail":
        throw THREW;
      default: {
        const never: never = step;
        return never;
      }
    }
  }

  /** `mayStay` says that the sequence may end before the call. */
  #issue(call: Call, mayStay = false): Waiting {
    if ("retry" in call && call.retry) return this.#retried({ ...call, retry: call.retry }, mayStay);
    this.items.push(toItem(call));
    if (call.to === "text") return { outcome: { ok: true, value: call.content, at: 0 } };
    const callId = `${this.#place.scope}.${this.items.length}`;
    const outcome = this.#history.outcomes.get(callId);
    this.#visit(callId, call, outcome, this.#place.config);
    // The code of a program does not use the address of the request.
    if (call.to === "tell" && outcome?.ok === true) return { outcome: { ...outcome, value: call.program } };
    return { outcome };
  }

  /** A call that is made again is a branch, with its attempts and pauses. */
  #retried({ retry, ...attempt }: Call & Supervision & { readonly retry: Retry }, mayStay: boolean): Waiting {
    const { attempts, backoffMs, on } = retry;
    this.items.push("all 1");
    const scope = `${this.#place.scope}.${this.items.length}:0`;
    const sequence = new Sequence(this.#history, { ...this.#place, scope }, this.#visit);
    // A cancel between an attempt and its pause is nowhere in the log, and neither is an end of the caller there.
    const mayEnd = attempt.canceled === true || (mayStay && isOver(this.#history, this.#place.scope));
    const ends = (): boolean => mayEnd && sequence.#logged.length <= sequence.items.length;
    let made: Waiting = { outcome: undefined };
    for (let number = 1; number <= attempts; number += 1) {
      made = sequence.#issue(attempt);
      if (made.outcome === undefined || !isRetried(attempt, made.outcome, on) || ends()) break;
      if (number === attempts || backoffMs === 0) continue;
      const paused = sequence.#issue({ to: "sleep", ms: backoffMs * 2 ** (number - 1) }).outcome;
      if (paused?.ok === true && !ends()) continue;
      made = { outcome: paused && { ...paused, ok: false } };
      break;
    }
    const { items, memory } = sequence;
    const { outcome } = made;
    const state = outcome === undefined ? "blocked" : outcome.ok ? "returned" : "threw";
    this.branches.set(scope, { items, state, value: outcome?.value ?? null, memory });
    for (const [under, expected] of sequence.branches) this.branches.set(under, expected);
    return made;
  }

  #follow({ call, takes, slow, content }: Step & { readonly do: "follow" }): void {
    const { outcome } = this.#issue(call, takes !== undefined);
    const callId = `${this.#place.scope}.${this.items.length}`;
    let taken = 0;
    for (const type of eventsUnder(this.#history, callId)) {
      taken += 1;
      this.items.push(`text ${content} ${type}`);
      if (slow) this.#wait([this.#issue({ to: "sleep", ms: 1 })], "all");
      if (taken !== takes) continue;
      this.last = { ok: true, value: taken };
      return;
    }
    if (outcome === undefined) throw BLOCKED;
    this.last = outcome.ok ? { ok: true, value: taken } : { ok: false, value: null };
  }

  #wait(calls: readonly Waiting[], until: "all" | "first"): readonly Outcome[] {
    const outcomes = calls.map(({ outcome }) => outcome).filter((outcome) => outcome !== undefined);
    const inOrder = outcomes.toSorted((a, b) => a.at - b.at);
    const [first] = until === "first" ? inOrder : inOrder.filter(({ ok }) => !ok);
    if (first) return [first];
    if (until === "first" || outcomes.length < calls.length) throw BLOCKED;
    return outcomes;
  }

  #all(branches: readonly Steps[]): void {
    this.items.push(`all ${branches.length}`);
    const path = `${this.#place.scope}.${this.items.length}`;
    const ends = branches.map((branch, index) => {
      const sequence = new Sequence(
        this.#history,
        { ...this.#place, scope: `${path}:${index}`, memory: this.memory },
        this.#visit,
      );
      const state = sequence.perform(branch, this.last);
      const { items, memory } = sequence;
      this.branches.set(`${path}:${index}`, { items, state, value: sequence.last.value, memory });
      for (const [under, expected] of sequence.branches) this.branches.set(under, expected);
      return { state, value: sequence.last.value };
    });
    if (ends.some(({ state }) => state === "blocked")) throw BLOCKED;
    const ok = ends.every(({ state }) => state === "returned");
    this.last = { ok, value: ok ? ends.map(({ value }) => value) : null };
  }
}

/** Whether a sequence has ended, because a call above it or the turn has. */
function isOver({ outcomes, events }: History, scope: string): boolean {
  if (events.at(-1)?.type === "RequestCompleted") return true;
  return [...outcomes.keys()].some((callId) => scope === callId || isInside(scope, callId));
}

/** Whether another attempt follows a failure. */
function isRetried(call: Call, { ok, code = "" }: Outcome, on?: readonly string[]): boolean {
  if (ok) return false;
  if (on) return on.includes(code);
  if (code === "overloaded") return true;
  const isSafe = call.to === "safe" || (call.to === "effect" && call.safe);
  return isSafe && ["tool_error", "timeout", "interrupted"].includes(code);
}

/** The types of the events under a call, in order. */
function eventsUnder({ events }: History, callId: string): readonly string[] {
  return events
    .filter(({ parent_call_id: parent = "" }) => parent === callId || isInside(parent, callId))
    .map(({ type }) => type);
}

interface Waiting {
  readonly outcome: Outcome | undefined;
}

/** The result that a program computes from the outcomes of its calls. */
function toEnded(outcomes: readonly Outcome[], single: boolean): Ended {
  if (outcomes.some(({ ok }) => !ok)) return { ok: false, value: null };
  const values = outcomes.map(({ value }) => value);
  return { ok: true, value: single ? (values[0] ?? null) : values };
}

/** A step with an immediate value, as in a history. */
function toImmediate(step: Extract<Step, { readonly do: "received" | "now" | "random" }>): string {
  if (step.do === "received") return `received ${step.name}`;
  return step.do === "now" ? "Now" : "Random";
}

function toItem(call: Call): string {
  switch (call.to) {
    case "agent":
    case "keeper":
    case "safe":
    case "risky":
      return `call ${call.to} {"program":${call.program}}`;
    case "effect":
      return `call ${call.name} {}`;
    case "ask":
    case "tell":
      return `call actor.perform {"program":${call.program}}`;
    case "sleep":
      return `sleep ${call.ms}`;
    case "receive":
      return `receive ${call.name}`;
    case "wait":
      return `wait ${JSON.stringify({ [call.key]: `${call.key}?` })}`;
    case "artifact":
      return `artifact ${call.name}`;
    case "text":
      return `text ${call.content}`;
    case "model":
      return "complete";
    case "remote":
      return `call remote.perform {"program":${call.program}}`;
    default: {
      const never: never = call;
      return never;
    }
  }
}
