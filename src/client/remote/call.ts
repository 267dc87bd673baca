import { sha256 } from "../../shared/sha256.ts";
import { AgentError } from "../../errors.ts";
import { isTurnErrorCode } from "../../protocol/events/outcome-codes.ts";
import { isObject } from "../../protocol/json.ts";
import type { Json } from "../../protocol/json.ts";
import { toRemoteError } from "../../runtime/agent/remote-port.ts";
import type {
  RemoteEnd,
  RemoteError,
  RemoteRequest,
  RemoteSession,
} from "../../runtime/agent/remote-port.ts";
import { toJson } from "../../runtime/journal/json-limits.ts";
import { endOf } from "../stream/received-events.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import { followStream } from "../stream/reconnect.ts";
import { unlessAborted } from "../../shared/clock.ts";
import { hasCode } from "../wire/problem.ts";
import { retry } from "../wire/retry.ts";
import type { Wire } from "../wire/wire.ts";
import { AnswerForwarder } from "./answer-forwarder.ts";
import { abandon } from "./cancel.ts";
import { RemoteEvents } from "./events.ts";
import { fetchFile, sendFile } from "./files.ts";
import { fault, toIds } from "./ids.ts";
import type { RemoteIds } from "./ids.ts";
import type { RemoteSettings } from "./settings.ts";
import { decodeState, encodeState } from "./state.ts";
import type { RemoteState } from "./state.ts";

/** How long a server may delay its answer when the run is busy. */
const BUSY_MS = 30_000;

/**
 * How often reading events is retried when the server reports more, before its status is accepted as the end.
 */
const TRIES = 2;

/** One request to a remote agent, from sending to its end, or from where an earlier activation stopped. */
export class RemoteCall {
  readonly #wire: Wire;
  readonly #asked: RemoteRequest;
  readonly #session: RemoteSession;
  readonly #settings: RemoteSettings;
  readonly #events: RemoteEvents;
  readonly #waits: AnswerForwarder;
  #state: RemoteState;
  /** Cancels the remote request in the background. */
  #abandon = (): void => {};
  /** Resolves when the cancel is in the log. */
  #canceled: Promise<void> | undefined;

  constructor(wire: Wire, asked: RemoteRequest, session: RemoteSession, settings: RemoteSettings) {
    this.#wire = wire;
    this.#asked = asked;
    this.#session = session;
    this.#settings = settings;
    const { principal } = session;
    this.#state = { ...decodeState(session.kept), ...(settings.isPeer && principal && { principal }) };
    this.#events = new RemoteEvents(settings.name, session, this.#state);
    this.#waits = new AnswerForwarder(wire, session, settings);
  }

  /** Performs the call. An error ends only this call. */
  async run(): Promise<RemoteEnd> {
    const { name } = this.#settings;
    const { requestId, runId } = this.#state;
    this.#session.signal.addEventListener("abort", () => {
      // If only this process stops, the other side continues, and the next activation resumes the call.
      if (this.#session.released) return;
      // The reason is committed by then.
      this.#canceled = Promise.resolve().then(() => this.#session.committed());
      this.#canceled.catch(() => {});
    });
    try {
      const begun =
        requestId === undefined ? await this.#begin() : { requestId, ...(runId !== undefined && { runId }) };
      return "end" in begun ? completedEnd(begun.end, name) : await this.#perform(begun);
    } catch (thrown) {
      // The end of the call must be in the log before the remote request is canceled: if the run has another
      // owner now, the call continues there. The run may have been passivated in the meantime.
      const ended = this.#canceled ?? (this.#session.released ? undefined : this.#session.committed());
      ended?.then(this.#abandon, () => {});
      if (this.#session.signal.aborted) throw thrown;
      return failedEnd(thrown, name, this.#state.requestId !== undefined);
    }
  }

  /** Sends the request. A retry has the same request id, so a lost answer does no harm. */
  async #begin(): Promise<RemoteIds | { readonly end: Readonly<Record<string, unknown>> }> {
    const { limits, name } = this.#settings;
    const { environment: clock, key, signal } = this.#session;
    const requestId = `req_${await sha256(key)}`;
    const body = { ...(await this.#toRequest()), request_id: requestId };
    const busyMs = "run_id" in body || "key" in body ? BUSY_MS : 0;
    const ask = { query: { wait: true }, body, timeoutMs: limits.acceptMs / 2 + busyMs };
    // A cancel does not abort it, because only an accepted request can be canceled on the server.
    const taken = retry({ clock, limitMs: limits.acceptMs + busyMs, signal }, async () => {
      const { json } = await this.#wire.ask("POST", "/process", ask);
      const end = endOf(json);
      if (end !== undefined) return { end: { ...end } };
      // A server of the draft may answer with a status only.
      return json === undefined ? { requestId } : toIds(json, name);
    });
    this.#abandon = (): void => {
      const cancel = (ids: RemoteIds): void => void abandon(this.#wire, ids.requestId, limits.cancelMs);
      taken.then(
        (begun) => "end" in begun || cancel(begun),
        () => cancel({ requestId }),
      );
    };
    const begun = await unlessAborted(taken, signal);
    // An operation that only reads is read again, if this process dies before its answer is in the log.
    if (!("end" in begun)) await this.#keep(begun);
    return begun;
  }

  async #toRequest(): Promise<Readonly<Record<string, unknown>>> {
    const { actor, operation, input, metadata, tools, caller, depth, hops, trace } = this.#asked;
    const text = isObject(input) ? input["input"] : undefined;
    const isChat = operation === "chat" && typeof text === "string";
    const { run_id: runId } = (this.#session.memory.get() ?? {}) as { readonly run_id?: Json };
    for (const file of this.#asked.attachments.slice(this.#state.attachments.length)) {
      const id = await sendFile(this.#wire, file, this.#session, this.#settings);
      await this.#keep({ attachments: [...this.#state.attachments, id] });
    }
    const { attachments } = this.#state;
    return {
      ...(isChat ? { type: "ChatRequest", input: text } : { type: "OperationRequest", operation, input }),
      // The run may be busy until the server has processed the cancel of an earlier request.
      ...(typeof runId === "string" && actor === undefined && { run_id: runId, on_busy: "enqueue" }),
      ...(actor?.key !== undefined && { key: actor.key, on_busy: "enqueue" }),
      ...(actor?.runId !== undefined && { run_id: actor.runId, on_busy: "enqueue" }),
      ...(this.#settings.metadata === true && { request_metadata: metadata }),
      ...(attachments.length > 0 && { attachments }),
      ...(tools.length > 0 && { tools }),
      // A server that does not know these ignores them.
      caller,
      depth,
      trace: { ...trace, ...(actor?.mode === "tell" && { linked: true }) },
      ...(hops && { hops }),
    };
  }

  /** Follows the remote request and waits for answers, until it ends. */
  async #perform({ requestId, runId }: RemoteIds): Promise<RemoteEnd> {
    const { memory, signal } = this.#session;
    this.#abandon = (): void => void abandon(this.#wire, requestId, this.#settings.limits.cancelMs);
    const { actor } = this.#asked;
    if (actor?.mode === "tell") {
      const output = { ...(runId !== undefined && { run_id: runId }), request_id: requestId };
      return { ok: true, result: null, output, truncated: false };
    }
    if (runId !== undefined && actor === undefined) memory.set({ run_id: runId });
    this.#waits.restore(requestId, this.#state.waits);
    for (;;) {
      if (!this.#state.parked) {
        this.#session.busy(true);
        const end = await this.#follow(requestId);
        if (end) return end;
        this.#session.busy(false);
        await this.#keep({ parked: true });
      }
      await unlessAborted(this.#waits.news(), signal);
      this.#session.busy(true);
      await this.#keep({ parked: false });
    }
  }

  /** Logs events as they arrive. Returns `undefined` when the request only waits for answers. */
  async #follow(requestId: string): Promise<RemoteEnd | undefined> {
    const { name } = this.#settings;
    for (let tries = 0; ;) {
      const { cursor } = this.#state;
      const completed = await this.#read(requestId);
      if (completed) return completedEnd(completed, name);
      const status = await this.#status(requestId);
      const lastEventId = Number(status["last_event_id"]);
      tries = this.#state.cursor > cursor ? 1 : tries + 1;
      // The request may have continued and ended after the stream ended.
      if (status["status"] === "completed" && lastEventId > this.#state.cursor && tries < TRIES) continue;
      if (status["status"] === "completed") return completedEnd(status, name);
      // An answer given in the meantime may have continued the request after the stream ended.
      if (this.#waits.size > 0 || this.#waits.hasNews) return undefined;
      throw fault(name, "ended its events without an end of the request");
    }
  }

  /** Logs the events of one stream. Returns its RequestCompleted, if any. */
  async #read(requestId: string): Promise<ReceivedEvent | undefined> {
    const { limits } = this.#settings;
    const stream = followStream(this.#wire, {
      path: `/getevents/${encodeURIComponent(requestId)}`,
      since: 0,
      after: this.#state.cursor,
      limits,
      signal: this.#session.signal,
      openWaits: () => this.#waits.size,
      progress: () => this.#status(requestId),
    });
    for await (const followed of stream) {
      if (followed.type !== "events") continue;
      const completed = await this.#log(followed.events);
      if (completed) return completed;
    }
    return undefined;
  }

  /**
   * Logs a batch of events. Returns its RequestCompleted, if any. Events and the read position that are
   * logged between two awaits are in one commit: a crash keeps both or neither.
   */
  async #log(batch: readonly ReceivedEvent[]): Promise<ReceivedEvent | undefined> {
    try {
      for (const event of batch) {
        if (this.#waits.isAnswering) {
          await this.#keep();
          await unlessAborted(this.#waits.settled(), this.#session.signal);
        }
        this.#events.check(event, this.#state);
        // It is read again if this process dies before the end of the call is in the log.
        if (event.type === "RequestCompleted" && (event["depth"] ?? 0) === 0) return event;
        if (event.type === "ArtifactGenerated") {
          await this.#keep();
          const body = await fetchFile(this.#wire, event, this.#session, this.#settings);
          this.#session.say(this.#events.speakerOf(event), body);
        } else if (event.type === "WaitForInput") this.#waits.ask(this.#events.speakerOf(event), event);
        else if (event.type === "ResumeWithInput") this.#waits.answered(event);
        else if (event.type === "WaitExpired") this.#waits.expired(event);
        else this.#events.log(event);
        this.#state = { ...this.#state, cursor: event.id };
      }
      return undefined;
    } finally {
      await this.#keep();
    }
  }

  /** The status of the request; empty if the server does not report it. */
  async #status(requestId: string): Promise<Readonly<Record<string, unknown>>> {
    const { environment: clock, signal } = this.#session;
    const { unreachableMs: limitMs, idleMs: timeoutMs } = this.#settings.limits;
    try {
      const { json } = await retry({ clock, limitMs, signal }, () =>
        this.#wire.ask("GET", `/request/${encodeURIComponent(requestId)}`, { signal, timeoutMs }),
      );
      return isObject(json) ? json : {};
    } catch (thrown) {
      if (hasCode(thrown, "not_found", "method_not_allowed")) return {};
      throw thrown;
    }
  }

  /** Saves the state of the call together with the events just logged; resolves when both are committed. */
  async #keep(change: Partial<RemoteState> = {}): Promise<void> {
    const { kept: waits } = this.#waits;
    this.#state = { ...this.#state, ...this.#events.open, waits, ...change };
    await this.#session.keep(encodeState(this.#state));
  }
}

/**
 * The end of a call whose remote request has completed, from its RequestCompleted or its status. Throws
 * `too_large` for an output that does not fit into a local event.
 */
function completedEnd(completed: Readonly<Record<string, unknown>>, name: string): RemoteEnd {
  const { finish_reason: reason, result, output, error, result_truncated: truncated } = completed;
  if (reason === "canceled") return toRemoteError("canceled", `agent ${name} was canceled on its server`);
  if (reason === "error") {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    const why = typeof message === "string" && message !== "" ? message : "it gives no reason";
    return toRemoteError(isTurnErrorCode(code) ? code : "agent_error", `agent ${name} failed: ${why}`);
  }
  const value = (output ?? (typeof result === "string" ? null : result) ?? null) as Json;
  return {
    ok: true,
    result: typeof result === "string" ? result : null,
    output: toJson(value, `what agent ${name} returned`),
    truncated: truncated === true,
  };
}

/** The end of a failed call; `taken` is true if the server had accepted the request. */
function failedEnd(thrown: unknown, name: string, taken: boolean): RemoteError {
  if (!(thrown instanceof AgentError))
    return toRemoteError("agent_error", `agent ${name} could not be called`);
  const { code, message } = thrown;
  if (code === "timeout") return toRemoteError("timeout", message);
  if (code === "unprocessable") return toRemoteError("unsupported_input", message);
  if (code === "too_deep") return { ok: false, toolCode: code, turnCode: "agent_error", message };
  // The server knew the request before and no longer knows it.
  if (taken && (code === "not_found" || code === "gone"))
    return toRemoteError(
      "interrupted",
      `agent ${name} has lost the request; whether it took effect is unknown`,
    );
  return toRemoteError("agent_error", message);
}
