import type { Event } from "troupe/protocol";

/** A random log, with what its generator knows about each event. */
export interface RandomLog {
  readonly events: readonly Event[];
  /** After each event: whether nothing but waits, sleeps and asks is open, and at least one wait. */
  readonly isWaiting: readonly boolean[];
  /** What each completion says in its last attempt at the end of the log, by call id. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Something open: a turn, call, completion, wait or sleep. */
interface Open {
  readonly id: string;
  readonly kind: "turn" | "agent" | "tool" | "actor" | "model" | "wait" | "sleep";
  readonly parent: Open | undefined;
  readonly children: Set<Open>;
  readonly depth: number;
  readonly eventId: number;
  attempt: number;
  /** For a sleep, in milliseconds. */
  readonly until: number;
  made: number;
}

/** Makes a log of some turns from random numbers below a limit. */
export function randomLog(below: (limit: number) => number, steps: number): RandomLog {
  return new LogWriter(below).run(steps);
}

class LogWriter {
  readonly #below: (limit: number) => number;
  readonly #events: Event[] = [];
  readonly #isWaiting: boolean[] = [];
  readonly #texts: Map<string, string> = new Map();
  #now: number = Date.UTC(2026, 0, 1);
  #turn: Open | undefined;
  #turns = 0;

  constructor(below: (limit: number) => number) {
    this.#below = below;
  }

  run(steps: number): RandomLog {
    for (let step = 0; step < steps; step += 1) this.#step();
    return { events: this.#events, isWaiting: this.#isWaiting, texts: this.#texts };
  }

  #step(): void {
    if (this.#turn === undefined) {
      if (this.#below(8) === 0) this.#emit(undefined, "ArtifactUploaded", file());
      else this.#start();
      return;
    }
    const open = [...all(this.#turn)];
    const at = open[this.#below(open.length)] ?? this.#turn;
    switch (at.kind) {
      case "turn":
      case "agent":
        this.#act(at);
        return;
      case "tool":
        if (this.#below(2) === 0) {
          const progress = { content: this.#word(), tool_call_id: at.id };
          this.#emit({ ...at, parent: at }, "ToolTextOutput", progress);
        } else this.#endCall(at);
        return;
      case "actor":
        this.#endCall(at);
        return;
      case "model":
        this.#model(at);
        return;
      case "wait":
        this.#endWait(at);
        return;
      case "sleep":
        // A sleep ends without an event, at the next one after its time.
        this.#now = Math.max(this.#now, at.until);
        this.#emit(this.#turn, "Invented", { value: 1 });
        return;
      default:
        at.kind satisfies never;
    }
  }

  #start(): void {
    this.#turns += 1;
    const id = `c${this.#turns}`;
    this.#turn = this.#open(undefined, "turn", id, 0);
    const accepted = new Date(this.#now - this.#below(2_000)).toISOString();
    const started = { operation: "chat", input: this.#word(), accepted_at: accepted };
    this.#emit(this.#turn, "RequestStarted", started);
  }

  #act(actor: Open): void {
    const spoken = { ...actor, parent: actor.kind === "turn" ? undefined : actor };
    const id = `${actor.id}.${(actor.made += 1)}`;
    switch (this.#below(11)) {
      case 0:
      case 1: {
        const branch = this.#below(3) === 0 ? { branch: `b${this.#below(2)}` } : {};
        this.#emit(spoken, "TextOutput", { content: this.#word(), ...branch });
        return;
      }
      case 2:
      case 3: {
        const kind = (["agent", "tool", "actor"] as const)[this.#below(3)] ?? "tool";
        const call = this.#open(actor, kind, id);
        const callee = { kind, name: `the-${kind}` };
        this.#emit(spoken, "ToolCall", { function_name: kind, args: {}, tool_call_id: call.id, callee });
        return;
      }
      case 4:
      case 5: {
        const model = this.#open(actor, "model", id);
        this.#texts.set(model.id, "");
        this.#emit(spoken, "CompletionCall", { model: "m", call_id: model.id, attempt: 1 });
        return;
      }
      case 6: {
        const wait = this.#open(actor, "wait", id);
        const asked = { request_keys: { ok: "Really?" }, call_id: wait.id, wait_id: wait.eventId };
        this.#emit(spoken, "WaitForInput", asked);
        return;
      }
      case 7: {
        const sleep = this.#open(actor, "sleep", id, this.#now + 1_000 + this.#below(100_000));
        const until = new Date(sleep.until).toISOString();
        this.#emit(spoken, "Sleeping", { call_id: sleep.id, until });
        return;
      }
      case 8: {
        const [from, to] = [`s${this.#below(3)}`, `s${this.#below(3)}`];
        const steps = [{ from, event: "GO", to }];
        this.#emit(spoken, "StateChanged", { value: to, cause: "GO", steps, status: "active", chart: "1" });
        return;
      }
      case 9:
        if (this.#below(2) === 0) this.#emit(spoken, "ArtifactGenerated", file());
        else this.#emit(undefined, "MessageReceived", { message_id: id, name: "hint", body: this.#word() });
        return;
      default:
        if (actor.kind === "turn") this.#endTurn(actor);
        else this.#endCall(actor);
    }
  }

  #model(model: Open): void {
    const spoken = speaker(model);
    const call = { call_id: model.id };
    switch (this.#below(4)) {
      case 0:
        model.attempt += 1;
        this.#texts.set(model.id, "");
        this.#emit(spoken, "CompletionCall", { model: "m", ...call, attempt: model.attempt });
        return;
      case 1:
        this.#close(model);
        this.#emit(spoken, "CompletionResult", {
          ...call,
          usage: { input_tokens: 1 + this.#below(9) },
          elapsed_ms: 1,
          result: {},
        });
        return;
      default: {
        const content = this.#word();
        this.#texts.set(model.id, (this.#texts.get(model.id) ?? "") + content);
        this.#emit(spoken, "TextOutput", { content, ...call, attempt: model.attempt });
      }
    }
  }

  #endWait(wait: Open): void {
    this.#close(wait);
    if (this.#below(4) === 0) this.#emit(speaker(wait), "WaitExpired", { wait_id: wait.eventId });
    else
      this.#emit({ ...wait, parent: undefined, depth: 0 }, "ResumeWithInput", {
        wait_id: wait.eventId,
        request_keys: { ok: true },
      });
  }

  #endCall(call: Open): void {
    this.#endCallsIn(call);
    // Waits, completions and sleeps in it have no event of its own for its end.
    call.children.clear();
    this.#close(call);
    const ended = { function_name: call.kind, tool_call_id: call.id };
    if (this.#below(3) === 0)
      this.#emit(speaker(call), "ToolError", { ...ended, content: "", code: "canceled" });
    else this.#emit(speaker(call), "ToolResult", { ...ended, text_result: "", result: null });
  }

  #endTurn(turn: Open): void {
    this.#endCallsIn(turn);
    this.#turn = undefined;
    this.#emit(turn, "RequestCompleted", { finish_reason: "success", result: "", output: null });
  }

  #endCallsIn(caller: Open): void {
    for (const child of Array.from(caller.children))
      if (child.kind === "agent" || child.kind === "tool" || child.kind === "actor") this.#endCall(child);
  }

  #open(parent: Open | undefined, kind: Open["kind"], id: string, until = 0): Open {
    const depth = parent === undefined ? 0 : parent.depth + 1;
    const eventId = this.#events.length + 1;
    const open = { id, kind, parent, children: new Set<Open>(), depth, eventId, attempt: 1, until, made: 0 };
    parent?.children.add(open);
    return open;
  }

  #close(open: Open): void {
    open.parent?.children.delete(open);
  }

  #emit(at: Pick<Open, "depth" | "parent"> | undefined, type: string, fields: object): void {
    this.#now += this.#below(500);
    const id = this.#events.length + 1;
    const event = {
      id,
      run_id: "run_1",
      request_id: at === undefined ? null : `req_${this.#turns}`,
      agent: at?.parent === undefined ? "root" : `the-${at.parent.kind}`,
      type,
      role: "system",
      depth: at?.depth ?? 0,
      ts: new Date(this.#now).toISOString(),
      ...(at?.parent && at.parent.kind !== "turn" && { parent_call_id: at.parent.id }),
      ...fields,
    };
    this.#events.push(event as unknown as Event);
    this.#wake();
    this.#isWaiting.push(this.#turn !== undefined && isWaiting(this.#turn));
  }

  /** Ends the sleeps whose time is over; only an event of the turn shows that. */
  #wake(): void {
    const shows = this.#events.at(-1);
    if (this.#turn === undefined || shows?.request_id === null || (shows?.type as string) === "Invented")
      return;
    for (const open of Array.from(all(this.#turn)))
      if (open.kind === "sleep" && open.until <= this.#now && open.eventId !== shows?.id) this.#close(open);
  }

  #word(): string {
    return `${"abcdefghij"[this.#below(10)] ?? ""}${this.#below(100)} `;
  }
}

/** Whose event tells about a call. */
function speaker(call: Open): Pick<Open, "depth" | "parent"> {
  const { parent } = call;
  return { depth: call.depth - 1, parent: parent?.kind === "turn" ? undefined : parent };
}

function* all(open: Open): Generator<Open> {
  yield open;
  for (const child of open.children) yield* all(child);
}

function isWaiting(turn: Open): boolean {
  const leaves = [...all(turn)].filter(({ children }) => children.size === 0);
  const atRest = leaves.every(({ kind }) => kind === "wait" || kind === "sleep" || kind === "actor");
  return atRest && leaves.some(({ kind }) => kind === "wait");
}

function file(): object {
  return { name: "a.txt", artifact_id: "a1", url: "/artifacts/a1", mime_type: "text/plain", size_bytes: 1 };
}
