import { MESSAGES } from "./messages.ts";

/** How a call is supervised by the code that makes it. */
export interface Supervision {
  readonly timeoutMs?: number;
  readonly retry?: Retry;
  /** Set if a step of the program may cancel it. */
  readonly canceled?: true;
}

export interface Retry {
  readonly attempts: number;
  readonly backoffMs: number;
  /** Default: that of the runtime. */
  readonly on?: readonly ("tool_error" | "timeout")[];
}

/** Something that a program awaits or leaves open. */
export type Call =
  | (Supervision & { readonly to: "agent" | "keeper" | "safe" | "risky"; readonly program: number })
  | (Supervision & {
      readonly to: "effect";
      readonly name: string;
      readonly safe: boolean;
      readonly fails: boolean;
    })
  | { readonly to: "sleep"; readonly ms: number }
  /** A question; with `ms` it has a time limit. */
  | { readonly to: "wait"; readonly key: string; readonly ms?: number }
  /** A wait for a message; without `ms` it has no end. */
  | { readonly to: "receive"; readonly name: string; readonly ms?: number }
  /** A request to the actor with a key, whose turn runs a program. */
  | (Supervision & { readonly to: "ask"; readonly key: string; readonly program: number })
  | { readonly to: "tell"; readonly key: string; readonly program: number }
  | { readonly to: "artifact"; readonly name: string }
  | { readonly to: "text"; readonly content: string }
  | CompletionCall
  /** A remote agent with programmed behavior. */
  | { readonly to: "remote"; readonly program: number };

/** A completion with a number of words and of transient failures, and possibly a final failure. */
export interface CompletionCall {
  readonly to: "model";
  readonly name: string;
  readonly words: number;
  readonly failures: number;
  readonly fatal: boolean;
}

/** A call of another agent or a tool. */
export type ChildCall = Call & { readonly to: "agent" | "keeper" | "safe" | "risky" };

/** One step of a handler. */
export type Step =
  | { readonly do: "text"; readonly content: string; readonly awaited: boolean }
  | { readonly do: "call"; readonly call: Call }
  | { readonly do: "start"; readonly call: Call; readonly slot: number }
  | { readonly do: "join"; readonly slot: number }
  | { readonly do: "cancel"; readonly slot: number }
  | { readonly do: "together"; readonly calls: readonly Call[] }
  | { readonly do: "race"; readonly calls: readonly Call[] }
  /** Iterates all or some events of a call and sends a text for each; `slow` sleeps after each. */
  | {
      readonly do: "follow";
      readonly call: ChildCall;
      readonly takes?: number;
      readonly slow: boolean;
      readonly content: string;
    }
  | { readonly do: "all"; readonly branches: readonly Steps[] }
  | { readonly do: "choose"; readonly even: Steps; readonly odd: Steps }
  | { readonly do: "now" | "random" }
  | { readonly do: "recall" | "fail" }
  /** Takes the unread messages with a name. */
  | { readonly do: "received"; readonly name: string }
  /** Reports its configuration, or reads the files of the request. */
  | { readonly do: "config" | "attached" }
  | { readonly do: "remember"; readonly value: number }
  | { readonly do: "breathe"; readonly times: number };

/** The steps of a handler, in sequence. */
export type Steps = readonly Step[];

/** Handlers by number; the first is the requested one, each other is called, asked or told from one place. */
export type Programs = ReadonlyMap<number, Steps>;

/** Picks from what a seed gives. */
export interface Picker {
  below(limit: number): number;
  chance(percent: number): boolean;
  of<Value>(values: readonly Value[]): Value;
}

/** A picker on random numbers. */
export function toPicker(random: { below(limit: number): number }): Picker {
  return {
    below: (limit) => random.below(limit),
    chance: (percent) => random.below(100) < percent,
    of: (values) => values[random.below(values.length)] as never,
  };
}

/** What one sequence has open beside what it does next. */
interface Sequence {
  /** Whether it left a call open; no plain wait may run in parallel with one. */
  loose: boolean;
}

/** A call that was started, and can be canceled. */
interface Started {
  readonly slot: number;
  readonly call: Call;
}

interface Place {
  readonly depth: number;
  /** In a branch of `all`, where the memory is shared with the other branches. */
  readonly branch: boolean;
  /** Somewhere under an agent with shared run memory. */
  readonly kept: boolean;
  readonly tool: boolean;
  /** Somewhere under a call that may be made more than once; a remote agent has one program for each call. */
  readonly retried: boolean;
  /** The keys of the actors that it may ask and tell; those never ask back, so that nothing waits for itself. */
  readonly keys: readonly string[];
  /** Somewhere in the turn of another actor, which has no client that answers questions or sends messages. */
  readonly alone: boolean;
}

/** The keys of the actors that programs ask and tell. */
const KEYS = ["a", "b"] as const;

/** The maximum size of the programs of a turn. */
export interface Size {
  /** The number of the first program; the other numbers and all names follow from it. Default 0. */
  readonly first?: number;
  /** Maximum number of steps of all programs together. Default: no limit. */
  readonly most?: number;
  /** Whether they use anything outside the turn: configurations, files, remote agents. Default false. */
  readonly outward?: boolean;
  /** Whether they ask and tell other actors. Default false. */
  readonly asks?: boolean;
}

/** Generates the programs of one turn. */
export function createPrograms(
  pick: Picker,
  { first = 0, most = Infinity, outward = false, asks = false }: Size = {},
): Programs {
  const programs = new Map<number, Steps>();
  let names = first * 100;
  let made = 0;
  const name = (): string => `n${(names += 1)}`;

  function steps(place: Place, length: number, sequence: Sequence = { loose: false }): Steps {
    const list: Step[] = [];
    const started: Started[] = [];
    for (let count = 0; count < length && made < most; count += 1) {
      made += 1;
      list.push(step(place, started, sequence));
    }
    // Some calls are left open when the handler ends.
    for (const one of started) {
      if (pick.chance(15) && isChild(one.call)) list.push(cancel(one));
      if (pick.chance(50)) list.push({ do: "join", slot: one.slot });
    }
    return list;
  }

  function cancel({ slot, call }: Started): Step {
    Object.assign(call, { canceled: true });
    return { do: "cancel", slot };
  }

  function step(place: Place, started: Started[], sequence: Sequence): Step {
    switch (pick.below(outward ? 23 : 21)) {
      case 0:
      case 1:
      case 2:
        return { do: "text", content: name(), awaited: pick.chance(60) };
      case 3:
        // A called agent has no messages.
        if (place.depth === 0 && !place.alone && pick.chance(40))
          return { do: "received", name: pick.of(MESSAGES) };
        return { do: pick.of(["now", "random"] as const) };
      case 4:
        return sequence.loose ? { do: "random" } : { do: "breathe", times: 1 + pick.below(3) };
      case 5:
        if (place.branch) return { do: "now" };
        return pick.chance(50) ? { do: "recall" } : { do: "remember", value: pick.below(1_000) };
      case 6:
      case 7: {
        const one = { slot: (names += 1), call: call(place) };
        started.push(one);
        sequence.loose = true;
        return { do: "start", ...one };
      }
      case 8:
      case 9:
        // One failure leaves the others open.
        sequence.loose = true;
        return { do: "together", calls: calls(place, 2 + pick.below(2)) };
      case 10:
        sequence.loose = true;
        return { do: "race", calls: calls(place, 2).map(awaitable) };
      case 11:
      case 12: {
        if (place.depth > 2) return { do: "text", content: name(), awaited: true };
        const branches = 2 + pick.below(2);
        const inside = { ...place, branch: true };
        return {
          do: "all",
          branches: Array.from({ length: branches }, () => steps(inside, 1 + pick.below(3))),
        };
      }
      case 13:
        return {
          do: "choose",
          even: steps(place, 1 + pick.below(2), sequence),
          odd: steps(place, pick.below(2), sequence),
        };
      case 15: {
        if (place.depth > 2 || programs.size >= MOST_PROGRAMS)
          return { do: "text", content: name(), awaited: true };
        const takes = pick.chance(40) ? { takes: 1 + pick.below(3) } : {};
        if ("takes" in takes) sequence.loose = true;
        return { do: "follow", call: child(place), ...takes, slow: pick.chance(30), content: name() };
      }
      case 14:
        return pick.chance(30) ? { do: "fail" } : { do: "call", call: wait(place) };
      case 20: {
        const children = started.filter((one) => isChild(one.call));
        return children.length > 0 ? cancel(pick.of(children)) : { do: "call", call: call(place) };
      }
      case 21:
        return { do: "config" };
      case 22:
        return sequence.loose ? { do: "config" } : { do: "attached" };
      default:
        return { do: "call", call: call(place) };
    }
  }

  function calls(place: Place, count: number): readonly Call[] {
    return Array.from({ length: count }, () => call(place));
  }

  function call(place: Place): Call {
    if (place.keys.length > 0 && programs.size < MOST_PROGRAMS && pick.chance(25)) return request(place);
    const kind = pick.below(outward ? 14 : 13);
    if (kind < 5 && place.depth < 3 && programs.size < MOST_PROGRAMS) return child(place);
    if (kind < 7) {
      const options = supervision();
      const fails = pick.chance(options.retry ? 70 : 20);
      return { to: "effect", name: name(), safe: pick.chance(60), fails, ...options };
    }
    if (kind < 9) return { to: "sleep", ms: pick.of([0, 10, 1_000, 100_000]) };
    if (kind === 9) return { to: "artifact", name: name() };
    if (kind === 10) return { to: "text", content: name() };
    if (kind === 11) return completion();
    if (kind === 12 && place.depth === 0 && !place.alone && pick.chance(60)) return receive();
    if (kind === 13 && programs.size < MOST_PROGRAMS && !place.retried)
      return { to: "remote", program: reserved() };
    return wait(place);
  }

  function wait(place: Place): Call {
    if (place.alone) return { to: "sleep", ms: pick.of([5, 500]) };
    const key = name();
    return pick.chance(40) ? { to: "wait", key, ms: pick.of([10, 1_000, 100_000]) } : { to: "wait", key };
  }

  function receive(): Call {
    // The clients of a simulation do not know what a turn waits for.
    const ms = pick.of(outward ? [10, 1_000, 100_000] : [undefined, 10, 1_000, 100_000]);
    return { to: "receive", name: pick.of(MESSAGES), ...(ms !== undefined && { ms }) };
  }

  /** An ask or a tell of another actor. */
  function request(place: Place): Call {
    const key = pick.of(place.keys);
    const program = reserved();
    // In its branch, programs use no memory: the turns of other requests change it in between.
    const keys = place.keys.filter((one) => one > key);
    const inside = { depth: 0, branch: true, kept: true, tool: false, retried: true, keys, alone: true };
    programs.set(program, steps(inside, pick.below(4)));
    return pick.chance(65) ? { to: "ask", key, program, ...supervision() } : { to: "tell", key, program };
  }

  /** A number for a remote program. */
  function reserved(): number {
    const program = first + programs.size;
    programs.set(program, []);
    return program;
  }

  function completion(): Call {
    return {
      to: "model",
      name: name(),
      words: pick.below(3),
      failures: pick.of([0, 0, 0, 1, 2]),
      fatal: pick.chance(15),
    };
  }

  function child(place: Place): ChildCall {
    const to = pick.of(place.kept ? (["agent", "safe", "risky"] as const) : TARGETS);
    const program = first + programs.size;
    programs.set(program, []);
    const options = supervision();
    const inside = {
      depth: place.depth + 1,
      branch: false,
      kept: place.kept || to === "keeper",
      tool: to === "safe" || to === "risky",
      retried: place.retried || options.retry !== undefined,
      keys: place.keys,
      alone: place.alone,
    };
    const inner = steps(inside, pick.below(4));
    programs.set(program, options.retry && pick.chance(60) ? [...inner, { do: "fail" }] : inner);
    return { to, program, ...options };
  }

  function supervision(): Supervision {
    return {
      ...(pick.chance(15) && { timeoutMs: pick.of([5, 500, 50_000]) }),
      ...(pick.chance(20) && { retry: retry() }),
    };
  }

  function retry(): Retry {
    const on = pick.chance(75) ? { on: [pick.of(["tool_error", "tool_error", "timeout"] as const)] } : {};
    return { attempts: 2 + pick.below(2), backoffMs: pick.of([0, 10, 29_000]), ...on };
  }

  programs.set(first, []);
  const keys = asks ? KEYS : [];
  const root = { depth: 0, branch: false, kept: false, tool: false, retried: false, keys, alone: false };
  programs.set(first, steps(root, 2 + pick.below(5)));
  return programs;
}

function isChild({ to }: Call): boolean {
  return (TARGETS as readonly string[]).includes(to);
}

/** A text cannot be part of a race: it ends with its commit, which is not an outcome in the log. */
function awaitable(call: Call): Call {
  return call.to === "text" ? { to: "sleep", ms: 5 } : call;
}

const TARGETS = ["agent", "keeper", "safe", "risky"] as const;

/** More programs make a turn slow to simulate without finding more. */
const MOST_PROGRAMS = 10;
