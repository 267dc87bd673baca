import { localRouter } from "../cluster/local-router.ts";
import { nodeEnvironment } from "../node/environment.ts";
import type { Environment } from "../ports/environment.ts";
import type { PriceTable } from "../ports/prices.ts";
import type { SubstitutedCall, Substitutes } from "../ports/substitutes.ts";
import type { Event, EventOf } from "../protocol/events/events.ts";
import type { FinishReason, TurnError, Usage } from "../protocol/events/outcome-codes.ts";
import type { RunId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import { errorMessage } from "../runtime/agent/error-message.ts";
import { CHAT } from "../runtime/agent/agent.ts";
import type { Agent, Collaborators } from "../runtime/agent/agent.ts";
import type { Receipt, Runtime } from "../runtime/api.ts";
import type { RecordedAnswer } from "../runtime/recording.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { memoryArtifacts } from "../storage/memory/artifacts.ts";
import { memoryLog } from "../storage/memory/log.ts";
import { memorySecrets } from "../storage/memory/secrets.ts";
import { createCaseClock } from "./case-clock.ts";
import type { CaseClock } from "./case-clock.ts";
import type { CaseTurn, EvalCase } from "./case.ts";
import type { LiveModels } from "./live-models.ts";
import { Playback } from "./playback.ts";
import type { Difference } from "./playback.ts";

/** The agents that cases are replayed with. */
export interface ReplayOptions {
  readonly agents: readonly Agent[];
  readonly bind?: Collaborators;
  readonly prices?: PriceTable;
  readonly models: LiveModels;
  /** The names of tools, effects and agents that do their work; the others are answered from the recording. */
  readonly live: ReadonlySet<string>;
  /** How long a case may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** What became of a case. */
export interface ReplayedCase {
  /** The turns that have ended. */
  readonly turns: readonly ReplayedTurn[];
  /** Why not all turns have ended. */
  readonly incomplete?: string;
  /** The completions that were asked of a model. */
  readonly asked: number;
  readonly difference?: Difference;
  /** Of all completions, recorded ones included. */
  readonly usage: Usage;
  readonly modelMs: number;
}

export interface ReplayedTurn {
  readonly output: Json;
  /** The answer as text. */
  readonly result: string | null;
  readonly finish_reason: FinishReason;
  readonly error?: TurnError;
  readonly events: readonly Event[];
}

/**
 * Has agents do a case again, in a runtime of its own in memory: people, tools and models answer from the recording, as far as
 * it has what is asked.
 */
export async function replayCase(one: EvalCase, options: ReplayOptions): Promise<ReplayedCase> {
  const [first] = one.turns;
  const at = first?.at;
  const clock = createCaseClock(nodeEnvironment(), at === undefined ? undefined : Date.parse(at));
  let stop = (_reason: string): void => {};
  const stopped = new Promise<string>((resolve) => {
    stop = resolve;
  });
  const playback = new Playback({
    models: options.models,
    live: options.live,
    missing: ({ name, args }: SubstitutedCall) =>
      stop(`the recording has no outcome of ${name}(${JSON.stringify(args)})`),
  });
  const { agents, bind, prices } = options;
  const served = { agents, ...(bind && { bind }), ...(prices && { prices }) };
  const runtime = openRuntime({ ...served, environment: clock, substitutes: playback });
  const timer = setTimeout(() => stop(`it did not end within ${options.timeoutMs} ms`), options.timeoutMs);
  const turns: ReplayedTurn[] = [];
  const conversation = new Conversation(runtime, clock, one, playback);
  const talked = conversation.talk(turns).catch((thrown: unknown) => errorMessage(thrown));
  const incomplete = await Promise.race([talked, stopped]);
  clearTimeout(timer);
  conversation.end();
  await runtime.close();
  await talked;
  const { live, difference, usage, modelMs } = playback;
  return {
    turns,
    ...(incomplete !== undefined && { incomplete }),
    asked: live,
    ...(difference && { difference }),
    usage,
    modelMs,
  };
}

/** A runtime in memory, from which nothing is called outside but what its substitutes let pass. */
export function openRuntime(
  options: Pick<ReplayOptions, "agents" | "bind" | "prices"> & {
    readonly environment: Environment;
    readonly substitutes: Substitutes;
  },
): Runtime {
  return createRuntime({
    ...options,
    log: memoryLog(),
    artifacts: memoryArtifacts(),
    secrets: memorySecrets(),
    router: localRouter(),
    prompts: false,
  });
}

/** The turns of a case, one after the other. */
class Conversation {
  readonly #runtime: Runtime;
  readonly #clock: CaseClock;
  readonly #case: EvalCase;
  readonly #playback: Playback;
  readonly #abort = new AbortController();

  constructor(runtime: Runtime, clock: CaseClock, one: EvalCase, playback: Playback) {
    this.#runtime = runtime;
    this.#clock = clock;
    this.#case = one;
    this.#playback = playback;
  }

  /** Nobody is interested any more. */
  end(): void {
    this.#abort.abort();
  }

  /** Adds each turn that has ended. Resolves with the reason if the recording does not suffice. */
  async talk(turns: ReplayedTurn[]): Promise<string | undefined> {
    const { agent, metadata, config, turns: asked } = this.#case;
    const runId = await this.#runtime.createRun(agent, metadata ? { metadata } : {});
    if (config) await this.#runtime.process(agent, { type: "ConfigureRequest", run_id: runId, args: config });
    for (const turn of asked) {
      if (turn.at !== undefined) this.#clock.skipTo(Date.parse(turn.at));
      this.#playback.begin(turn);
      const ended = await this.#take(runId, turn);
      if (typeof ended === "string") return ended;
      turns.push(ended);
    }
    return undefined;
  }

  /** Takes one turn. Resolves with the reason if the recording does not suffice. */
  async #take(runId: RunId, turn: CaseTurn): Promise<ReplayedTurn | string> {
    const { operation, input, metadata, tools, messages = [], answers = [] } = turn;
    let sent = 0;
    /** Sends the messages that had come when so many completions and calls had ended. */
    const send = async (ended: number): Promise<void> => {
      for (let next = messages[sent]; next !== undefined && next.after <= ended; next = messages[sent]) {
        sent += 1;
        const { name, body } = next;
        await this.#runtime.process(this.#case.agent, { type: "Message", run_id: runId, name, body });
      }
    };
    await send(0);
    const receipt = await this.#runtime.process(this.#case.agent, {
      ...(operation === CHAT && typeof input === "string"
        ? { type: "ChatRequest", input }
        : { type: "OperationRequest", operation, input }),
      run_id: runId,
      logging_level: "all",
      ...(metadata && { request_metadata: metadata }),
      ...(tools && { tools }),
    });
    const events: Event[] = [];
    const left = [...answers];
    let ended = 0;
    for await (const event of this.#follow(receipt, runId)) {
      events.push(event);
      switch (event.type) {
        case "WaitForInput": {
          const refused = await this.#answer(receipt, event, left);
          if (refused !== undefined) return refused;
          break;
        }
        case "Sleeping":
          this.#clock.skipTo(Date.parse(event.until));
          break;
        case "CompletionRetry":
          if (event.until !== undefined) this.#clock.skipTo(Date.parse(event.until));
          break;
        case "CompletionResult":
        case "ToolResult":
        case "ToolError":
          ended += 1;
          await send(ended);
          break;
        case "RequestCompleted": {
          const { output, result, finish_reason, error } = event;
          return { output, result, finish_reason, ...(error && { error }), events };
        }
        default:
      }
    }
    return "it was stopped";
  }

  async *#follow({ requestId, after }: Receipt, runId: RunId): AsyncGenerator<Event> {
    const { agent } = this.#case;
    const feed = await this.#runtime.follow(
      { kind: "request", runId, requestId, agent },
      { after, forever: true, signal: this.#abort.signal },
    );
    for await (const { events } of feed.pages) for (const text of events) yield JSON.parse(text) as Event;
  }

  /** Answers a question as the recording does. Returns the reason if it does not. */
  async #answer(
    { requestId }: Receipt,
    event: EventOf<"WaitForInput">,
    left: RecordedAnswer[],
  ): Promise<string | undefined> {
    const at = left.findIndex((answer) => answers(answer, event));
    const [found] = at === -1 ? [] : left.splice(at, 1);
    if (found?.values) {
      await this.#runtime.process(this.#case.agent, {
        type: "ResumeWithInput",
        request_id: requestId,
        wait_id: event.wait_id,
        request_keys: found.values,
      });
      return undefined;
    }
    if (found?.expired === true && event.expires_at !== undefined) {
      this.#clock.skipTo(Date.parse(event.expires_at));
      return undefined;
    }
    const what = event.approval ?? event.tool;
    const asked =
      what && "tool" in what ? `an approval of ${what.tool}` : Object.keys(event.request_keys).join(", ");
    return `the recording has no answer to the question for ${asked}`;
  }
}

/** Whether a recorded answer is for a question: it asks for the same values, for the same call. */
function answers({ keys, approval, tool }: RecordedAnswer, event: EventOf<"WaitForInput">): boolean {
  const asked = Object.keys(event.request_keys);
  return (
    asked.length === keys.length &&
    keys.every((key) => asked.includes(key)) &&
    (approval === undefined || JSON.stringify(approval) === JSON.stringify(event.approval)) &&
    (tool === undefined || JSON.stringify(tool) === JSON.stringify(event.tool))
  );
}
