import { isInstance } from "../../errors.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model, ModelPart } from "../../ports/model.ts";
import type { Usage, CompletionErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "./actor.ts";
import { openCall } from "./call.ts";
import type { Sequence } from "./sequence.ts";
import { checkQueueOptions, checkTimeoutOption } from "../agent/call-options.ts";
import type { CompletionOptions } from "../agent/turn-api.ts";
import { COMPLETION } from "../replay/signature.ts";
import { makeCall, pauseAfterMs } from "../calls/attempts.ts";
import type { TimedCall } from "../calls/attempts.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import { toBlob } from "../artifacts/artifact.ts";
import { toCallKey } from "../journal/call-id.ts";
import { checkText, EVENT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";

/** A completion, requested for the first time or again after a crash. */
export interface NewCompletion extends TimedCall {
  readonly logged: boolean;
  readonly model: Model;
  readonly input: Json;
}

/** The delay before the second attempt in milliseconds; doubled for each further one. */
const BACKOFF_MS = 500;

/**
 * The longest delay, in milliseconds, that a model can ask for before it is asked again. After a request for a longer
 * one the completion fails.
 */
const PATIENCE_MS = 60_000;

/** The maximum size of a result: the event's limit without 4 KiB for the other fields of a completion. */
const RESULT_LIMIT_BYTES = EVENT_LIMIT_BYTES - 4_096;

/** Asks a model for the code of an actor. */
export async function completeWith(
  sequence: Sequence,
  { model, input: given, timeoutMs }: CompletionOptions,
): Promise<Json> {
  const { actor } = sequence;
  checkTimeoutOption(
    { ...(timeoutMs !== undefined && { timeoutMs }) },
    actor.describe(`model ${model.name}`),
  );
  checkQueueOptions(model, `model ${model.name}`);
  const input = toJson(given, "the input of the model", Infinity);
  return sequence.issue(COMPLETION, (step) => complete(actor, { ...step, model, input, timeoutMs }), {
    of: { agent: model.name },
  });
}

/**
 * Asks a model, streams its text, and journals its result. Repeating a completion costs money but does no
 * harm, so an interrupted one is repeated, unless its model is unsafe; its text then replaces the text of earlier attempts.
 */
export function complete(caller: Actor, { callId, logged, model, input, timeoutMs }: NewCompletion): void {
  const { turn, speaker, transcript } = caller;
  const { environment, files, limits, prompts, telemetry } = turn.context;
  const abort = new AbortController();
  const { name } = model;
  const open = openCall(caller, { callId, name, args: null, logged }, "completion", () => abort.abort());
  const started = environment.monotonic();
  /** The delay that the model asks for, in milliseconds, if it is too long for another attempt. */
  let awayMs: number | undefined;
  const end = (result: Json, usage: Usage, error?: string, code?: CompletionErrorCode): void => {
    if (!turn.calls.accepts(open)) return;
    const outcome =
      error === undefined
        ? ({ ok: true, value: result } as const)
        : ({ ok: false, code: code ?? "model_error", message: error } as const);
    turn.addUsage(usage);
    turn.calls.settle(open, outcome, {
      type: "CompletionResult",
      model: name,
      call_id: callId,
      usage,
      elapsed_ms: Math.round(environment.monotonic() - started),
      result,
      ...(error !== undefined && { error }),
      ...(code && { error_code: code }),
    });
  };
  void makeCall(caller, {
    open,
    logged,
    timeoutMs,
    policy: model.effect ?? "idempotent",
    queue: model,
    prepare(attempt) {
      if (prompts) turn.prompts.add(caller, { callId, attempt, input });
    },
    record(attempt, expiresAt) {
      turn.recorder.event(speaker, {
        type: "CompletionCall",
        model: name,
        call_id: callId,
        attempt,
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      });
      transcript.retract(callId);
    },
    async perform(attempt) {
      const parts = model.generate(input, {
        callId: toCallKey(turn.runId, callId),
        attempt,
        signal: abort.signal,
        readArtifact: async (id) => new Uint8Array(await (await toBlob(files.store.read(id))).arrayBuffer()),
      });
      const { result, usage } = await stream(caller, open, attempt, parts);
      if (open.open) end(toJson(result, "the completion", RESULT_LIMIT_BYTES), usage);
    },
    pauseAfter(thrown, attempt) {
      if (!isInstance(thrown, ModelError) || thrown.code !== "model_unavailable") return undefined;
      const pauseMs = thrown.retryAfterMs ?? pauseAfterMs(BACKOFF_MS, attempt);
      if (pauseMs <= PATIENCE_MS) return pauseMs;
      awayMs = pauseMs;
      return undefined;
    },
    failed(thrown) {
      const code = isInstance(thrown, ModelError) ? thrown.code : undefined;
      if (awayMs !== undefined) {
        const why = `it asks for a retry after ${Math.ceil(awayMs / 1_000)} s`;
        end(null, {}, `${errorMessage(thrown)} (${why})`, code);
        return;
      }
      telemetry.failed(
        `model ${name} failed`,
        thrown,
        turn.place({ agent: caller.agent.name, model: name, tool_call_id: callId }),
      );
      end(null, {}, errorMessage(thrown), code);
    },
    fail(code, message) {
      const isExhausted = code === "interrupted" && model.effect !== "unsafe";
      if (isExhausted) end(null, {}, `${name} did not answer in ${limits.attempts} attempts`);
      else end(null, {}, message, code);
    },
  });
}

/** Streams the model's text at the speed of the log, and of the code that iterates the call, until the result. */
async function stream(
  { turn, speaker, transcript }: Actor,
  open: OpenCall,
  attempt: number,
  parts: AsyncIterable<ModelPart>,
): Promise<{ readonly result: Json; readonly usage: Usage }> {
  const { recorder } = turn;
  for await (const part of parts) {
    if (!open.open) break;
    if (part.type === "result") return { result: part.result, usage: part.usage };
    checkText(part.text);
    const about = { call_id: open.callId, attempt };
    if (part.type === "text") {
      transcript.add(part.text, open.callId);
      recorder.text(speaker, part.text, about);
    } else {
      recorder.event(speaker, { type: "ReasoningOutput", content: part.text, ...about });
    }
    await turn.room(speaker);
  }
  throw new ModelError("the model ended without a result", { code: "model_unavailable" });
}
