import { isInstance } from "../../errors.ts";
import type { Environment } from "../../ports/environment.ts";
import { ModelError } from "../../ports/model.ts";
import type { Model, ModelContext, ModelPart } from "../../ports/model.ts";
import { ownerOf } from "../../ports/principal.ts";
import type { EndedCompletion } from "../../ports/telemetry.ts";
import type { Usage, CompletionErrorCode } from "../../protocol/events/outcome-codes.ts";
import type { Json } from "../../protocol/json.ts";
import type { Actor } from "./actor.ts";
import { openCall } from "./call.ts";
import { ProviderTools } from "./provider-tools.ts";
import { toPlace } from "./substituted.ts";
import type { Sequence } from "./sequence.ts";
import { checkCompletionOptions, checkQueueOptions } from "../agent/call-options.ts";
import type { CompletionOptions, ReviewedAnswer } from "../agent/turn-api.ts";
import { addUsage, INTERRUPTED, isInterrupted } from "../replay/turn-journal.ts";
import { COMPLETION } from "../replay/signature.ts";
import { makeCall } from "../calls/attempts.ts";
import type { TimedCall } from "../calls/attempts.ts";
import { BudgetGate } from "../calls/budget-gate.ts";
import { codeOf, ModelAccess } from "../calls/model-access.ts";
import { toModel } from "../model/provider-model.ts";
import { errorMessage } from "../agent/error-message.ts";
import type { OpenCall } from "../scheduler/call-tree.ts";
import { inTrace } from "../turn/in-trace.ts";
import { toBlob } from "../artifacts/artifact.ts";
import { toCallKey } from "../journal/call-id.ts";
import { checkText, EVENT_LIMIT_BYTES, toJson } from "../journal/json-limits.ts";

/** A completion, requested for the first time or again after a crash. */
export interface NewCompletion extends Omit<CompletionOptions, "timeoutMs" | "model">, TimedCall {
  readonly model: Model;
  readonly logged: boolean;
}

/** The maximum size of a result: the event's limit without 4 KiB for the other fields of a completion. */
const RESULT_LIMIT_BYTES = EVENT_LIMIT_BYTES - 4_096;

/** Asks a model for the code of an actor. */
export async function completeWith(sequence: Sequence, options: CompletionOptions): Promise<Json> {
  const { actor } = sequence;
  const { timeoutMs } = options;
  const model = toModel(options.model, actor.describe("turn.complete"));
  const place = `model ${model.name}`;
  checkCompletionOptions(options, actor.describe(place));
  checkQueueOptions(model, place);
  const input = toJson(options.input, "the input of the model", Infinity);
  return sequence.issue(
    COMPLETION,
    (step) => complete(actor, { ...options, ...step, model, input, timeoutMs }),
    {
      of: { agent: model.name },
    },
  );
}

/**
 * Asks a model, streams its text, and journals its result. Repeating a completion costs money but does no
 * harm, so an interrupted one is repeated, unless its model is unsafe; its text then replaces the text of earlier attempts.
 * While the model is away, the turn rests.
 */
export function complete(caller: Actor, completion: NewCompletion): void {
  const { callId, logged, model, input, timeoutMs, fallback, retry } = completion;
  const { turn, speaker, transcript } = caller;
  const { environment, limits, prompts, telemetry } = turn.context;
  /** Those of the attempt that runs, and whether it has said anything, so that it costs something. */
  let isSpeaking = false;
  /** What the attempt has used so far, as its model says on the way. */
  let soFar: Usage | undefined;
  let abort = new AbortController();
  let parts: WatchedParts | undefined;
  const { name } = model;
  const open = openCall(caller, { callId, name, args: null, logged }, "completion", () => abort.abort());
  open.whenClosed(() => parts?.close());
  const known = logged ? turn.journal.calls.get(callId) : undefined;
  const access = new ModelAccess({ caller, open, model, fallback, retry, known });
  const budget = new BudgetGate(caller, open);
  const started = environment.monotonic();
  /** What earlier attempts have used. */
  let spent = known?.spent ?? {};
  if (known && isInterrupted(known)) spent = addUsage(spent, INTERRUPTED);
  /** What an attempt that failed has used, which is counted once. */
  let counted: unknown;
  const lost = (thrown?: unknown): Usage => {
    if (thrown !== undefined && thrown === counted) return {};
    counted = thrown;
    const reported = isInstance(thrown, ModelError) ? thrown.usage : undefined;
    const used = reported ?? (isSpeaking ? addUsage(soFar ?? {}, INTERRUPTED) : {});
    isSpeaking = false;
    soFar = undefined;
    return used;
  };
  open.whenClosed(() => {
    // Somebody has ended the call, which has no result then. If the turn has left memory, it goes on later.
    if (!isEnded && !turn.released) count("canceled", addUsage(spent, lost()));
  });
  let isEnded = false;
  /** Counts what the completion has used, for its turn and for the metrics. */
  const count = (outcome: EndedCompletion["outcome"], usage: Usage): void => {
    const { name: agent } = caller.agent;
    const firstMs = parts?.firstMs;
    const ended: EndedCompletion = {
      agent,
      owner: ownerOf(turn.accepted),
      model: access.model.name,
      outcome,
      ms: environment.monotonic() - started,
      ...(firstMs !== undefined && { firstMs }),
      usage,
    };
    turn.addCompletion(ended);
    telemetry.asked?.(ended);
  };
  const end = (result: Json, used: Usage, error?: string, code?: CompletionErrorCode): void => {
    if (!turn.calls.accepts(open)) return;
    isEnded = true;
    const usage = addUsage(spent, used);
    const outcome =
      error === undefined
        ? ({ ok: true, value: result } as const)
        : ({ ok: false, code: code ?? "model_error", message: error } as const);
    count(outcome.ok ? "ok" : outcome.code, usage);
    turn.calls.settle(open, outcome, {
      type: "CompletionResult",
      model: access.model.name,
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
    get queue() {
      return access.model;
    },
    prepare(attempt) {
      if (prompts) turn.prompts.add(caller, { callId, attempt, input });
    },
    admit: (asking) =>
      budget.admit(() => {
        access.leave();
        asking();
      }),
    record(attempt, expiresAt) {
      access.choose();
      turn.recorder.event(speaker, {
        type: "CompletionCall",
        model: access.model.name,
        call_id: callId,
        attempt,
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
      });
      transcript.retract(callId);
    },
    async perform(attempt) {
      abort = new AbortController();
      const admitted = access.begin();
      const { substitutes } = turn.context;
      const asked = substitutes ? substitutes.model(admitted, toPlace(caller, callId)) : admitted;
      const context = toContext(caller, { callId, attempt, signal: abort.signal });
      const generated = inTrace(caller, callId, () => asked.generate(input, context));
      parts = new WatchedParts(environment, generated, {
        within: (next) => inTrace(caller, callId, next),
        firstMs: completion.firstTokenMs ?? limits.modelFirstTokenMs,
        idleMs: completion.idleMs ?? limits.modelIdleMs,
        isRepeatable: asked.effect !== "unsafe",
        stalled: () => abort.abort(),
      });
      const spoke = (part: ModelPart): void => {
        isSpeaking = true;
        if (part.type === "usage") soFar = part.usage;
      };
      const { result, usage } = await stream(caller, {
        open,
        attempt,
        parts,
        completion,
        signal: abort.signal,
        spoke,
      });
      isSpeaking = false;
      access.succeeded();
      if (open.open) end(toJson(result, "the completion", RESULT_LIMIT_BYTES), usage);
    },
    retryAt(thrown, attempt) {
      const used = lost(thrown);
      const until = access.retryAt(thrown, attempt, used);
      spent = addUsage(spent, used);
      return until;
    },
    rest: (until) => access.rest(until),
    failed(thrown) {
      const code = codeOf(thrown);
      const { reason } = access;
      if (reason === undefined)
        telemetry.failed(
          `model ${access.model.name} failed`,
          thrown,
          turn.place({ agent: caller.agent.name, model: access.model.name, tool_call_id: callId }),
        );
      const message = errorMessage(thrown);
      end(null, lost(thrown), reason === undefined ? message : `${message} (${reason})`, code);
    },
    fail(code, message) {
      const isExhausted = code === "interrupted" && model.effect !== "unsafe";
      if (isExhausted) end(null, lost(), `${name} did not answer in ${limits.attempts} attempts`);
      else end(null, lost(), message, code);
    },
  });
}

function toContext(
  { turn }: Actor,
  { callId, ...attempt }: Pick<ModelContext, "callId" | "attempt" | "signal">,
): ModelContext {
  const { files, prices } = turn.context;
  return {
    ...attempt,
    callId: toCallKey(turn.runId, callId),
    readArtifact: async (id) => new Uint8Array(await (await toBlob(files.store.read(id))).arrayBuffer()),
    ...(prices && { prices }),
  };
}

/** An attempt that streams. */
interface Streamed {
  readonly open: OpenCall;
  readonly attempt: number;
  readonly parts: WatchedParts;
  readonly completion: Pick<CompletionOptions, "prefix" | "asReasoning" | "review">;
  readonly signal: AbortSignal;
  /** Called for each part of the answer. */
  spoke(part: ModelPart): void;
}

/** Streams the model's text at the speed of the log, and of the code that iterates the call, until the result. */
async function stream(
  { turn, speaker, transcript }: Actor,
  { open, attempt, parts, completion, signal, spoke }: Streamed,
): Promise<{ readonly result: Json; readonly usage: Usage }> {
  const { recorder } = turn;
  const { asReasoning = false, review } = completion;
  let { prefix = "" } = completion;
  const about = { call_id: open.callId, attempt };
  const say = (content: string): void => {
    const text = `${prefix}${content}`;
    prefix = "";
    transcript.add(text, open.callId);
    recorder.text(speaker, text, about);
  };
  const think = (content: string): void => {
    recorder.event(speaker, { type: "ReasoningOutput", content, ...about });
  };
  const tools = new ProviderTools(turn.recorder, speaker, about);
  let withheld = "";
  try {
    for (let part = await parts.next(); part !== undefined; part = await parts.next()) {
      spoke(part);
      if (!open.open) break;
      if (part.type === "result") {
        const { result, usage } = part;
        if (review === undefined) return { result, usage };
        const reviewed = await reviewWith(review, { text: withheld, result }, { signal, usage });
        if (open.open && reviewed.text !== "") (asReasoning ? think : say)(reviewed.text);
        return { result: reviewed.result, usage };
      }
      if (part.type === "progress" || part.type === "usage") continue;
      if (part.type === "tool-call" || part.type === "tool-result") {
        // What a guard has not judged is not shown.
        if (review === undefined) tools.add(part);
        await turn.room(speaker);
        continue;
      }
      checkText(part.text);
      const isText = part.type === "text" && !asReasoning;
      if (review !== undefined) {
        if (part.type === "text") withheld += part.text;
        if (withheld.length > EVENT_LIMIT_BYTES) checkText(withheld);
        continue;
      }
      if (isText) say(part.text);
      else think(part.text);
      await turn.room(speaker);
    }
  } finally {
    parts.close();
    if (open.open) tools.close();
  }
  throw new ModelError("the model ended without a result", { code: "model_unavailable" });
}

/** The answer as a review lets it pass. Its usage counts also if the review fails. */
async function reviewWith(
  review: NonNullable<CompletionOptions["review"]>,
  answer: ReviewedAnswer,
  { signal, usage }: { readonly signal: AbortSignal; readonly usage: Usage },
): Promise<ReviewedAnswer> {
  try {
    const reviewed = await review(answer, signal);
    checkText(reviewed.text);
    return reviewed;
  } catch (thrown) {
    throw new ModelError(errorMessage(thrown), { usage, cause: thrown });
  }
}

/** How long the parts of an answer may take, in milliseconds. */
interface PartLimits {
  readonly firstMs: number;
  readonly idleMs: number;
  /** Whether the model may be asked again after that. */
  readonly isRepeatable: boolean;
  /** Asks the model for its next part. */
  within<Returned>(next: () => Returned): Returned;
  /** Called when a part takes longer. */
  stalled(): void;
}

/** The parts of an answer, of which each must come in time. The time in which nobody asks for the next one does not count. */
class WatchedParts {
  readonly #environment: Environment;
  readonly #iterator: AsyncIterator<ModelPart>;
  readonly #limits: PartLimits;
  #limitMs: number;
  #stopTimer: (() => void) | undefined;
  readonly #startedMs: number;
  /** How long the first part took, in milliseconds; absent before it. */
  firstMs: number | undefined;
  /** Since when a part is awaited, and what ends the wait. */
  #awaited: { readonly sinceMs: number; reject(thrown: unknown): void } | undefined;

  constructor(environment: Environment, parts: AsyncIterable<ModelPart>, limits: PartLimits) {
    this.#environment = environment;
    this.#iterator = parts[Symbol.asyncIterator]();
    this.#limits = limits;
    this.#limitMs = limits.firstMs;
    this.#startedMs = environment.monotonic();
    this.#watch(limits.firstMs);
  }

  /** The next part; `undefined` after the last one. */
  async next(): Promise<ModelPart | undefined> {
    const result = await new Promise<IteratorResult<ModelPart, unknown>>((resolve, reject) => {
      this.#awaited = { sinceMs: this.#environment.monotonic(), reject };
      this.#limits.within(() => this.#iterator.next()).then(resolve, reject);
    });
    this.#awaited = undefined;
    if (result.done === true || result.value.type !== "usage")
      this.firstMs ??= this.#environment.monotonic() - this.#startedMs;
    this.#limitMs = this.#limits.idleMs;
    return result.done === true ? undefined : result.value;
  }

  /** Asks for no more parts. A model that is stuck is not waited for. */
  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#awaited = undefined;
    const closing = this.#iterator.return?.();
    closing?.then(undefined, () => {});
  }

  /** One timer for all parts. */
  #watch(ms: number): void {
    this.#stopTimer = this.#environment.timer(ms, () => {
      if (this.#stopTimer === undefined) return;
      const awaited = this.#awaited;
      const passedMs = awaited === undefined ? 0 : this.#environment.monotonic() - awaited.sinceMs;
      if (awaited === undefined || passedMs < this.#limitMs) {
        this.#watch(this.#limitMs - passedMs);
        return;
      }
      const message = `the model said nothing for ${this.#limitMs} ms`;
      awaited.reject(new ModelError(message, this.#limits.isRepeatable ? { code: "model_unavailable" } : {}));
      this.#limits.stalled();
    });
  }
}
