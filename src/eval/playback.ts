import { ModelError } from "../ports/model.ts";
import type { Model, ModelContext, ModelPart } from "../ports/model.ts";
import type { CallPlace, SubstitutedCall, SubstituteOutcome, Substitutes } from "../ports/substitutes.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import { isModelCode } from "../protocol/events/outcome-codes.ts";
import { canonical, isObject } from "../protocol/json.ts";
import type { Json } from "../protocol/json.ts";
import type { RecordedCall, RecordedCompletion } from "../runtime/recording.ts";
import { toPromptDigest } from "../runtime/replay/prompts.ts";
import type { PromptDigest } from "../runtime/replay/prompts.ts";
import type { CaseTurn } from "./case.ts";
import type { LiveModels } from "./live-models.ts";

/** The first completion of a case that asks something else than the recorded one. */
export interface Difference {
  /** The number of the turn, from 1. */
  readonly turn: number;
  /** The number of the completion in the turn, from 1. */
  readonly completion: number;
  readonly agent: string;
  /** The parts of the prompt that differ; empty if the recording has no such completion. */
  readonly parts: readonly string[];
}

/** What is really called. */
export interface PlaybackOptions {
  readonly models: LiveModels;
  /** The names of tools, effects and agents that do their work. */
  readonly live: ReadonlySet<string>;
  /** Called if the recording has no outcome of a call. */
  missing(call: SubstitutedCall): void;
}

/** Whether a part of a recording was played. */
interface Played<Recorded> {
  readonly recorded: Recorded;
  isPlayed: boolean;
}

/**
 * Plays the recording of a case: a completion with the same prompt gets the recorded answer, and a call with the same name and
 * arguments the recorded outcome. Other completions are asked of the model.
 */
export class Playback implements Substitutes {
  readonly #options: PlaybackOptions;
  #turn = 0;
  #completions: Played<RecordedCompletion>[] = [];
  #calls: Played<RecordedCall>[] = [];
  #asked = 0;
  /** The completions that were asked of a model, and what all completions have used. */
  live = 0;
  usage: Usage = {};
  /** How long all completions took, in milliseconds. */
  modelMs = 0;
  difference: Difference | undefined;

  constructor(options: PlaybackOptions) {
    this.#options = options;
  }

  /** Plays the next turn from now on. */
  begin({ completions = [], calls = [] }: CaseTurn): void {
    this.#turn += 1;
    this.#asked = 0;
    this.#completions = completions.map((recorded) => ({ recorded, isPlayed: false }));
    this.#calls = calls.map((recorded) => ({ recorded, isPlayed: false }));
  }

  model(model: Model, { agent }: CallPlace): Model {
    return {
      name: model.name,
      ...(model.effect && { effect: model.effect }),
      generate: (input, context) => this.#generate(model, agent, { input, context }),
    };
  }

  call(call: SubstitutedCall): SubstituteOutcome | undefined {
    const { live, missing } = this.#options;
    if (live.has(call.name) || live.has(call.callee.name)) return undefined;
    const args = canonical(call.args);
    const same = this.#calls.filter(
      ({ recorded }) => recorded.name === call.name && canonical(recorded.args) === args,
    );
    const found = same.find(({ isPlayed }) => !isPlayed) ?? same.at(-1);
    if (found === undefined) {
      missing(call);
      return { type: "open" };
    }
    found.isPlayed = true;
    const { result = null, text = "", error, code = "tool_error" } = found.recorded;
    if (error !== undefined) return { type: "error", code, message: error };
    return found.recorded.code === "canceled" ? { type: "open" } : { type: "result", value: result, text };
  }

  async *#generate(
    model: Model,
    agent: string,
    { input, context }: { readonly input: Json; readonly context: ModelContext },
  ): AsyncGenerator<ModelPart> {
    const { models } = this.#options;
    this.#asked += 1;
    const prompt = toPromptDigest(input);
    const found = models.isReplaced ? undefined : this.#take(agent, prompt);
    if (found) {
      this.#count(found.usage ?? {}, found.elapsed_ms);
      yield* play(found);
      return;
    }
    if (!models.isReplaced) this.difference ??= this.#differenceOf(agent, prompt);
    this.live += 1;
    const startedMs = performance.now();
    yield* models.ask(model, input, context, (usage) => this.#count(usage, performance.now() - startedMs));
  }

  /** The recorded completion with a prompt; without recorded prompts, the next one of the agent. */
  #take(agent: string, prompt: PromptDigest): RecordedCompletion | undefined {
    const same = this.#completions.filter(
      ({ recorded: { agent: asking, prompt: known } }) =>
        asking === agent && (known === undefined || differingParts(known, prompt).length === 0),
    );
    const found = same.find(({ isPlayed }) => !isPlayed) ?? same.findLast(({ recorded }) => recorded.prompt);
    if (found) found.isPlayed = true;
    return found?.recorded;
  }

  #differenceOf(agent: string, prompt: PromptDigest): Difference {
    const next = this.#completions.find(({ recorded, isPlayed }) => recorded.agent === agent && !isPlayed);
    const known = next?.recorded.prompt;
    return {
      turn: this.#turn,
      completion: this.#asked,
      agent,
      parts: known ? differingParts(known, prompt) : [],
    };
  }

  #count(usage: Usage, ms: number): void {
    const sum = (name: keyof Usage): void => {
      const more = usage[name];
      if (more !== undefined) this.usage = { ...this.usage, [name]: (this.usage[name] ?? 0) + more };
    };
    for (const name of Object.keys(usage)) sum(name as keyof Usage);
    this.modelMs += ms;
  }
}

/** The names of the parts in which two prompts differ. */
function differingParts(one: PromptDigest, other: PromptDigest): readonly string[] {
  const names = new Set([...Object.keys(one.fields), ...Object.keys(other.fields)]);
  const fields = [...names].filter((name) => one.fields[name] !== other.fields[name]);
  return [
    ...fields.map((name) => (name === "" ? "input" : name)),
    ...(one.messages === other.messages && one.count === other.count ? [] : ["messages"]),
  ];
}

/** How long a provider wants to be left alone that has failed for good, so that it is not tried again, in milliseconds. */
const NEVER_MS = 1e12;

function* play({
  result,
  text,
  reasoning,
  error,
  error_code,
  usage = {},
}: RecordedCompletion): Generator<ModelPart> {
  if (reasoning !== undefined) yield { type: "reasoning", text: reasoning };
  const said = isObject(result) && typeof result["text"] === "string" ? result["text"] : (text ?? "");
  if (said !== "") yield { type: "text", text: said };
  if (error === undefined) {
    yield { type: "result", result, usage };
    return;
  }
  const final = isModelCode(error_code) && { code: error_code, retryAfterMs: NEVER_MS };
  throw new ModelError(error, { usage, ...final });
}
