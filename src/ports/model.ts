import type { ModelErrorCode, Usage } from "../protocol/events/outcome-codes.ts";
import type { ArtifactId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";
import type { PriceTable } from "./prices.ts";

/** How many calls of a tool, or completions of a model, start at a time. */
export interface RateOptions {
  /** How many start in `perMs`, at most, after a pause also at once. */
  readonly limit: number;
  /** In milliseconds. */
  readonly perMs: number;
}

/**
 * Limits of the calls of a tool or the completions of a model, over all runs of a process. What is above them waits, the
 * runs in turn.
 */
export interface QueueOptions {
  /** How many run at once. Default: no limit. */
  readonly concurrency?: number;
  /** How many start at a time. Default: no limit. */
  readonly rate?: RateOptions;
}

/**
 * A language model as the runtime sees it: it streams text and ends with a result. Only the model and its
 * agent know the format of the input and the result.
 */
export interface Model extends QueueOptions {
  /** Shown in the events of each completion. */
  readonly name: string;
  /**
   * A label for the account that pays, if the process uses several for models of one name; not the key itself. Models of
   * one name and account are away together.
   */
  readonly account?: string;

  /**
   * Whether a completion may be asked for again if a crash leaves its outcome unknown. Default `idempotent`, because a model
   * changes nothing outside; an `unsafe` one then fails with `interrupted`.
   */
  readonly effect?: "idempotent" | "unsafe";

  /**
   * Asks for one completion. Ends with a `result`. Throws a `ModelError` if there is none, or soon after the
   * signal has aborted. After a crash it may be called again with the same call id.
   */
  generate(input: Json, context: ModelContext): AsyncIterable<ModelPart>;
}

/**
 * A language model as a provider of the AI SDK makes it, in version 2, 3 or 4 of its specification. The runtime calls it
 * itself.
 */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: object }>;
}

/** Context of a completion besides its input. */
export interface ModelContext {
  /** An idempotency key: equal on every attempt of this completion, and unique over all runs and servers. */
  readonly callId: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  /**
   * Reads a file that the input refers to, for example an image; fails with `not_found` if it was removed.
   */
  readonly readArtifact: (artifactId: ArtifactId) => Promise<Uint8Array>;
  /** The prices that the runtime was given, for models that look theirs up. */
  readonly prices?: PriceTable;
}

/** A part of a model's stream. */
export type ModelPart =
  /** Text for the caller. */
  | { readonly type: "text"; readonly text: string }
  /** The model works and says nothing for the caller, for example while it writes a call. */
  | { readonly type: "progress" }
  /** Reasoning before the answer. */
  | { readonly type: "reasoning"; readonly text: string }
  /** The provider runs a tool itself, as a search of the web. `id` is the provider's. */
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly input: Json }
  /** What it has found. */
  | {
      readonly type: "tool-result";
      readonly id: string;
      readonly name: string;
      readonly result: Json;
      readonly isError?: boolean;
    }
  /** What the attempt has used so far, which counts if it breaks off. A later one replaces it. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** The end of the stream: the complete answer and its token usage. */
  | { readonly type: "result"; readonly result: Json; readonly usage: Usage };

/** A completion failed. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  /**
   * Why, as far as the provider says. After `model_unavailable` the completion is tried again; every other failure is
   * final. Absent for a failure of another kind.
   */
  readonly code: ModelErrorCode | undefined;
  /** Delay before a retry in milliseconds, if the provider gives one. */
  readonly retryAfterMs: number | undefined;
  /** What the attempt used, if the provider says it. */
  readonly usage: Usage | undefined;

  constructor(
    message: string,
    options: {
      readonly code?: ModelErrorCode;
      readonly retryAfterMs?: number;
      readonly usage?: Usage;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = options.code;
    this.retryAfterMs = options.retryAfterMs;
    this.usage = options.usage;
  }
}
