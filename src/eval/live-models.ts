import { ModelError } from "../ports/model.ts";
import type { Model, ModelContext, ModelPart } from "../ports/model.ts";
import type { Usage } from "../protocol/events/outcome-codes.ts";
import type { Json } from "../protocol/json.ts";
import { digest } from "../shared/digest.ts";

/** Keeps the answers of models between evaluations, by a digest of the model and what it was asked. */
export interface AnswerCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, answer: string): Promise<void>;
}

/** How models may be asked. */
export interface LiveModelsOptions {
  /** Whether they may be asked at all. */
  readonly allowed: boolean;
  /** What the answers may cost together, in the unit of the models' prices. */
  readonly budget: number;
  readonly cache?: AnswerCache;
  /** Stands for each model that an agent names. */
  readonly model?: Model;
}

/** A part of an answer that is kept; the time between parts is not. */
type KeptAnswer = readonly ModelPart[];

/** The models that an evaluation really asks. What they have answered once is not asked again. */
export class LiveModels {
  readonly #options: LiveModelsOptions;
  /** The cost of all answers that were not in the cache. */
  spent = 0;
  /** A model that has answered without saying what it costs. */
  #unpriced: string | undefined;

  constructor(options: LiveModelsOptions) {
    this.#options = options;
  }

  /** Whether all completions are asked of one model, so that recorded ones of other models do not count. */
  get isReplaced(): boolean {
    return this.#options.model !== undefined;
  }

  /** Asks a model, or the one that stands for it. Throws a `ModelError` if it may not be asked. */
  async *ask(
    named: Model,
    input: Json,
    context: ModelContext,
    used: (usage: Usage) => void,
  ): AsyncGenerator<ModelPart> {
    const { allowed, budget, cache, model = named } = this.#options;
    const key = digest(JSON.stringify([model.name, input]));
    const kept = await cache?.get(key);
    if (kept !== undefined) {
      for (const part of JSON.parse(kept) as KeptAnswer) {
        if (part.type === "result") used(part.usage);
        yield part;
      }
      return;
    }
    if (!allowed)
      throw new ModelError("the evaluation asks no model, and the recording has no answer to this prompt");
    if (this.spent >= budget)
      throw new ModelError(`the budget of the evaluation is used up: ${this.spent} of ${budget}`);
    if (budget < Infinity && this.#unpriced !== undefined)
      throw new ModelError(
        `what ${this.#unpriced} costs is not known, so the evaluation cannot keep its budget`,
      );
    const parts: ModelPart[] = [];
    for await (const part of model.generate(input, context)) {
      if (part.type !== "progress") parts.push(part);
      if (part.type === "result") {
        this.spent += part.usage.cost ?? 0;
        if (part.usage.cost === undefined) this.#unpriced = model.name;
        used(part.usage);
        await cache?.set(key, JSON.stringify(parts));
      }
      yield part;
    }
  }
}
