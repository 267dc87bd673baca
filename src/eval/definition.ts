import { AgentError } from "../errors.ts";
import type { LanguageModel, Model } from "../ports/model.ts";
import { isObject } from "../protocol/json.ts";
import type { EvalCase } from "./case.ts";
import type { Scorer } from "./scorers.ts";

/** How a data set is judged: what the file beside it exports as default. */
export interface Evaluation {
  /** Default: whether the answer is exactly the expected one. */
  readonly scorers?: readonly Scorer[];
  /** The least mean of a scorer, by its name; below that the evaluation fails. */
  readonly thresholds?: { readonly [scorer: string]: number };
  /** Names of tools, effects and agents that do their work; the others are answered from the recording. */
  readonly live?: readonly string[];
  /** Models to compare, by the names that `--model` takes. */
  readonly models?: { readonly [name: string]: Model | LanguageModel };
  /** Takes out of a picked case what must not be in a file. */
  redact?(one: EvalCase): EvalCase;
}

/** Declares how a data set is judged. Throws `invalid_request` for what is no evaluation. */
export function defineEvaluation(evaluation: Evaluation): Evaluation {
  const { scorers = [], thresholds = {}, live = [] } = evaluation;
  if (!Array.isArray(scorers) || scorers.some((scorer) => typeof scorer !== "function"))
    throw new AgentError("invalid_request", "scorers must be a list of functions");
  for (const [name, least] of Object.entries(thresholds))
    if (!(least >= 0 && least <= 1))
      throw new AgentError("invalid_request", `the threshold of ${name} must be from 0 to 1`);
  if (!Array.isArray(live) || live.some((name) => typeof name !== "string"))
    throw new AgentError("invalid_request", "live must be a list of names");
  return evaluation;
}

/** Whether a value is what `defineEvaluation` returns. */
export function isEvaluation(value: unknown): value is Evaluation {
  return (
    isObject(value) &&
    ("scorers" in value || "thresholds" in value || "live" in value || "models" in value || "redact" in value)
  );
}
