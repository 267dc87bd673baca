import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { AgentCall, RequestFollowOptions, OpenWait } from "../call-api.ts";
import type { RunView } from "../../view/run-view.ts";
import { viewOf } from "./view-of.ts";
import { FollowedRequest } from "./followed-request.ts";
import type { AgentReceipt } from "./followed-request.ts";
import type { TurnOutcome } from "./outcome.ts";
import { WaitingError } from "./waiting-error.ts";

/** A call of an agent, or a request that was made before. */
export class RequestCall<Output> implements AgentCall<Output> {
  readonly runId: Promise<RunId>;
  #requestId: RequestId;
  readonly #request: FollowedRequest;
  readonly #toOutput: (end: TurnOutcome) => Output;
  /** The newest view that was asked for. */
  #view: RunView | undefined;

  constructor(
    requestId: RequestId,
    accepted: Promise<AgentReceipt>,
    options: RequestFollowOptions,
    toOutput: (end: TurnOutcome) => Output,
  ) {
    this.#requestId = requestId;
    this.#request = new FollowedRequest(accepted, options);
    this.#toOutput = toOutput;
    this.runId = accepted.then(({ requestId: id, runId }) => {
      // A server of the draft may choose the id itself.
      this.#requestId = id;
      return runId ?? this.#request.runId;
    });
    // An error is thrown to those who await the call.
    this.runId.catch(() => {});
    this.#request.read().catch(() => {});
  }

  get requestId(): RequestId {
    return this.#requestId;
  }

  get waits(): readonly OpenWait[] {
    return this.#request.waits;
  }

  async view(): Promise<RunView> {
    const from = this.#view;
    const view = await viewOf(this.#after(from?.head ?? 0), from);
    // Another reading of the view may have come further.
    if (view.head >= (this.#view?.head ?? 0)) this.#view = view;
    return view;
  }

  async cancel(): Promise<void> {
    const { requests, requestId } = await this.#request.accepted;
    await requests.cancel(requestId);
  }

  // oxlint-disable-next-line unicorn/no-thenable -- awaiting a call gives its output
  then<Value = Output, Failure = never>(
    fulfilled?: ((output: Output) => Value | PromiseLike<Value>) | null,
    rejected?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Value | Failure> {
    return this.#output().then(fulfilled, rejected);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void> {
    const request = this.#request;
    for (let last = 0; ;) {
      for await (const events of this.#after(last)) {
        for (const event of events) {
          last = event.id;
          yield event;
        }
      }
      if (request.events.last > last) continue;
      if (request.end !== undefined) return;
      await Promise.race([request.news, request.read()]);
      // Reading has ended without anything new: the turn waits.
      if (request.events.last <= last && request.end === undefined && !request.isReading) return;
    }
  }

  /** The events behind one that are known here, if necessary read from the server again. */
  async *#after(id: number): AsyncGenerator<readonly Event[], void> {
    const kept = this.#request.events.after(id);
    if (kept !== undefined) {
      yield kept;
      return;
    }
    const { requests, requestId } = await this.#request.accepted;
    yield* requests.pages(requestId, id);
  }

  async #output(): Promise<Output> {
    for (;;) {
      await this.#request.read();
      const { end, waits } = this.#request;
      if (end !== undefined) return this.#toOutput(end);
      // It can have been answered in this moment.
      if (waits.length > 0) throw new WaitingError(waits);
    }
  }
}
