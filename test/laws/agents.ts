import type { Agent, Call as CallOf, CallOptions, Model, ModelPart, Operation, Tool, Turn } from "troupe";
import { defineAgent, defineTool, ModelError, operation } from "troupe";
import { z } from "zod";
import type { Json, JsonObject } from "../../src/protocol/json.ts";
import { MESSAGES } from "./messages.ts";
import type { Call, ChildCall, CompletionCall, Programs, Step, Steps, Supervision } from "./program.ts";

/** The outcome of an awaited step. */
export interface Ended {
  readonly ok: boolean;
  readonly value: Json;
}

/** The outside world, whose changes survive a crash of the runtime. */
export interface Outside {
  /** The programs of the current code. */
  programs: Programs;
  /** Records an outside effect: its kind and its name. */
  note(what: string): void;
  macrotask(run: () => void): void;
}

/** The agents and tools that run programs. */
export function createAgents(
  outside: Outside,
  { remote }: { readonly remote?: Performer } = {},
): readonly Agent[] {
  const performOf =
    (kind: string) =>
    async ({ program }: { readonly program: number }, turn: Turn): Promise<Json> => {
      const steps = outside.programs.get(program) ?? [];
      // A tool that does not use its turn has an outside effect.
      if (steps.length === 0 && (kind === "safe" || kind === "risky")) outside.note(`${kind} ${program}`);
      const last = await new Performance(cast, outside).perform(turn, steps, { ok: true, value: program });
      return { program, last: last.value };
    };
  const input = z.object({ program: z.number() });
  const agentOf = (name: string, memory: "own" | "run"): Performer =>
    defineAgent({
      name,
      purpose: "Performs a program.",
      memory,
      messages: Object.fromEntries(MESSAGES.map((message) => [message, z.number()])),
      ...(remote && { uses: { remote } }),
      operations: { perform: operation({ input, run: performOf(name) }) },
    });
  const toolOf = (name: "safe" | "risky"): Tool<{ readonly program: number }, Json> =>
    defineTool({
      name,
      description: "Performs a program.",
      input,
      effect: name === "safe" ? "idempotent" : "unsafe",
      concurrency: name === "safe" ? 2 : 3,
      run: performOf(name),
    });
  const cast: Cast = {
    agent: agentOf("agent", "own"),
    keeper: agentOf("keeper", "run"),
    safe: toolOf("safe"),
    risky: toolOf("risky"),
    actor: agentOf("actor", "own"),
    ...(remote && { remote }),
  };
  return [agentOf("root", "own"), cast.agent, cast.keeper, cast.actor];
}

/** An agent that runs programs. */
export type Performer = Agent<{ readonly perform: Operation<{ readonly program: number }, Json> }>;

interface Cast {
  readonly agent: Performer;
  readonly keeper: Performer;
  /** It is asked and told by key. */
  readonly actor: Performer;
  readonly safe: Tool<{ readonly program: number }, Json>;
  readonly risky: Tool<{ readonly program: number }, Json>;
  readonly remote?: Performer;
}

/** Runs the steps of a program on a turn; each result determines the next steps. */
class Performance {
  readonly #cast: Cast;
  readonly #outside: Outside;

  constructor(cast: Cast, outside: Outside) {
    this.#cast = cast;
    this.#outside = outside;
  }

  async perform(turn: Turn, steps: Steps, before: Ended): Promise<Ended> {
    const started = new Map<number, StartedCall>();
    let last = before;
    for (const step of steps) last = await this.#step(turn, step, last, started);
    return last;
  }

  async #step(turn: Turn, step: Step, last: Ended, started: Map<number, StartedCall>): Promise<Ended> {
    switch (step.do) {
      case "text": {
        const said = turn.text(`${step.content} ${JSON.stringify(last)}`);
        if (step.awaited) await said;
        return last;
      }
      case "call":
        return this.#caught(this.#call(turn, step.call));
      case "start":
        started.set(step.slot, this.#start(turn, step.call));
        return last;
      case "join":
        return (await started.get(step.slot)?.ended) ?? last;
      case "cancel":
        started.get(step.slot)?.cancel();
        return last;
      case "together":
        return this.#caught(Promise.all(step.calls.map((call) => this.#call(turn, call))));
      case "race":
        return this.#caught(Promise.race(step.calls.map((call) => this.#call(turn, call))));
      case "follow":
        return this.#caught(this.#follow(turn, step));
      case "all":
        return this.#caught(
          turn.all(
            step.branches.map((branch) => async (own: Turn) => (await this.perform(own, branch, last)).value),
          ),
        );
      case "choose":
        return this.perform(turn, isEven(last) ? step.even : step.odd, last);
      case "now":
        return { ok: true, value: turn.now() };
      case "random":
        return { ok: true, value: turn.random() };
      case "remember":
        turn.memory.set(step.value);
        return last;
      case "received":
        return { ok: true, value: turn.received(step.name) as Json };
      case "recall":
        return { ok: true, value: turn.memory.get() ?? null };
      case "config": {
        const level = toLevel(turn.config);
        void turn.text(`level ${JSON.stringify(level)}`);
        return { ok: true, value: level };
      }
      case "attached":
        return {
          ok: true,
          value: await Promise.all((await turn.attachments()).map((file) => file.text())),
        };
      case "breathe":
        for (let time = 0; time < step.times; time += 1) {
          await new Promise<void>((resolve) => {
            this.#outside.macrotask(resolve);
          });
        }
        return last;
      case "fail":
        throw new Error("the program fails here");
      default: {
        const never: never = step;
        return never;
      }
    }
  }

  #start(turn: Turn, call: Call): StartedCall {
    const made: Promise<unknown> & { cancel?(): void } = this.#call(turn, call);
    return { ended: this.#caught(made), cancel: () => made.cancel?.() };
  }

  async #follow(turn: Turn, { call, takes, slow, content }: Step & { readonly do: "follow" }): Promise<Json> {
    let taken = 0;
    for await (const event of this.#child(turn, call)) {
      taken += 1;
      await turn.text(`${content} ${event.type}`);
      if (slow) await turn.sleep(1);
      if (taken === takes) break;
    }
    return taken;
  }

  async #caught(promise: Promise<unknown>): Promise<Ended> {
    try {
      return { ok: true, value: ((await promise) ?? null) as Json };
    } catch {
      return { ok: false, value: null };
    }
  }

  #call(turn: Turn, call: Call): Promise<unknown> {
    switch (call.to) {
      case "agent":
      case "keeper":
      case "safe":
      case "risky":
        return this.#child(turn, call);
      case "effect":
        return this.#effect(turn, call);
      case "ask":
      case "tell":
        return this.#send(turn, call);
      case "sleep":
        return turn.sleep(call.ms);
      case "receive":
        return turn.receive(call.name, call.ms === undefined ? {} : { timeoutMs: call.ms });
      case "wait":
        return call.ms === undefined
          ? turn.waitForInput({ [call.key]: `${call.key}?` })
          : turn
              .waitForInput({ [call.key]: `${call.key}?` }, { timeoutMs: call.ms })
              .then((values) => values ?? null);
      case "artifact":
        return turn
          .artifact({ name: call.name, mimeType: "text/plain", data: call.name })
          .then(({ name }) => name);
      case "text":
        return turn.text(call.content).then(() => call.content);
      case "model":
        return turn.complete({
          model: this.#model(call),
          input: { messages: ["ask", JSON.stringify(call)] },
        });
      case "remote":
        return turn.call(this.#cast.remote ?? this.#cast.agent, "perform", { program: call.program });
      default: {
        const never: never = call;
        return never;
      }
    }
  }

  #send(turn: Turn, call: Call & { readonly to: "ask" | "tell" }): Promise<unknown> {
    const { key, program } = call;
    const address = turn.actor(this.#cast.actor, key);
    if (call.to === "ask") return turn.ask(address, "perform", { program }, toOptions(call));
    return turn.tell(address, "perform", { program }).then(() => program);
  }

  #child(turn: Turn, { to, program, ...options }: ChildCall): CallOf<Json> {
    if (to === "safe" || to === "risky") return turn.tool(this.#cast[to], { program }, toOptions(options));
    return turn.call(this.#cast[to], "perform", { program }, toOptions(options));
  }

  #model({ name, words, failures, fatal }: CompletionCall): Model {
    const { note, macrotask } = this.#outside;
    async function* generate(attempt: number): AsyncGenerator<ModelPart, void> {
      note(`safe ${name}`);
      for (const word of toWords(name, words)) {
        await new Promise<void>(macrotask);
        yield { type: word.endsWith("?") ? "reasoning" : "text", text: word };
      }
      if (attempt <= failures || fatal)
        throw new ModelError("the model fails", attempt <= failures ? { code: "model_unavailable" } : {});
      yield { type: "result", result: toNumber(name), usage: { output_tokens: words } };
    }
    return { name, generate: (_input, { attempt }) => generate(attempt) };
  }

  #effect(turn: Turn, { name, safe, fails, ...options }: Call & { readonly to: "effect" }): Promise<number> {
    return turn.effect(
      name,
      async () => {
        this.#outside.note(`${safe ? "safe" : "risky"} ${name}`);
        if (name.length % 2 === 0) {
          await new Promise<void>((resolve) => {
            this.#outside.macrotask(resolve);
          });
        }
        if (fails) throw new Error("the effect fails");
        return toNumber(name);
      },
      { ...toOptions(options), effect: safe ? "idempotent" : "unsafe" },
    );
  }
}

/** A call that a program has started. */
interface StartedCall {
  readonly ended: Promise<Ended>;
  cancel(): void;
}

function toOptions({ timeoutMs, retry }: Supervision): CallOptions {
  return { ...(timeoutMs !== undefined && { timeoutMs }), ...(retry && { retry }) };
}

/** Decides a branch of a program. */
export function isEven({ ok, value }: Ended): boolean {
  return ok && JSON.stringify(value).length % 2 === 0;
}

/** The stream of a model in one attempt; a word with a question mark is reasoning. */
export function toWords(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${name} ${index}${index === 1 ? "?" : ""}`);
}

/** The level that an agent was configured to; a secret beside it must be in clear text. */
function toLevel({ level = 0, token = `${SECRET} of nobody` }: JsonObject): Json {
  return typeof token === "string" && token.startsWith(SECRET) ? level : "a secret is hidden";
}

/** The prefix of every secret. */
export const SECRET = "only for the agent";

/** The result of the effect or model with a name. */
export function toNumber(name: string): number {
  return name.length * 100 + Number(name.replace(/\D/g, ""));
}
