import type { Usage } from "../protocol/events.ts";
import type { ArtifactId } from "../protocol/ids.ts";
import type { Json } from "../protocol/json.ts";

/**
 * A language model as the runtime sees it: something that streams text and ends with a result. What
 * goes in and what comes out are the business of the model and of the agent that uses it.
 */
export interface Model {
  /** Shown in the events of each completion. */
  readonly name: string;

  /**
   * Asks for one completion. Ends with a `result`; throws a `ModelError` when there is none, and soon
   * after the signal has fired. May be called again with the same call id after a crash.
   */
  generate(input: Json, context: ModelContext): AsyncIterable<ModelPart>;
}

/** What a model is told beside its input. */
export interface ModelContext {
  /** Equal on every attempt: an idempotency key for the provider. */
  readonly callId: string;
  /** 1 the first time. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Reads a file that the input names, such as a picture; fails with `not_found` when it is gone. */
  readonly readArtifact: (artifactId: ArtifactId) => Promise<Uint8Array>;
}

/** What a model streams. */
export type ModelPart =
  /** Text for the caller. */
  | { readonly type: "text"; readonly text: string }
  /** What the model thinks before it speaks. */
  | { readonly type: "reasoning"; readonly text: string }
  /** The end: everything that the agent needs to go on, and what it cost. */
  | { readonly type: "result"; readonly result: Json; readonly usage: Usage };

/** A completion failed. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  /** Whether another try may do better. */
  readonly transient: boolean;
  /** How long to wait before it, in milliseconds, where the provider says. */
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { readonly transient: boolean; readonly retryAfterMs?: number; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.transient = options.transient;
    this.retryAfterMs = options.retryAfterMs;
  }
}
