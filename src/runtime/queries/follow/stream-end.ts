import type { EventLog } from "../../../ports/event-log.ts";
import { depthOf, idOf, requestIdOf, typeOf } from "../../../protocol/events/encode.ts";
import type { LoggedEvents } from "../../../protocol/events/texts.ts";
import type { Address } from "../../feeds.ts";

/** Detects when a stream has delivered everything until its caller must act. */
export class StreamEnd {
  readonly #log: EventLog;
  readonly #address: Address;
  /** The delivered waits without a delivered answer. */
  readonly #waits = new Set<number>();
  /** Whether the end of the request was delivered. */
  #completed = false;
  /** Whether a run may be idle: checked at the start and after every turn. */
  #mayBeIdle = true;

  constructor(log: EventLog, address: Address) {
    this.#log = log;
    this.#address = address;
  }

  /** Whether the end is certain without reading the status. */
  get sure(): boolean {
    return this.#completed;
  }

  /** Registers delivered events. */
  saw(events: LoggedEvents): void {
    for (const text of events) {
      if (typeof text !== "string") continue;
      switch (typeOf(text)) {
        case "WaitForInput":
          this.#waits.add(idOf(text));
          break;
        case "ResumeWithInput":
        case "WaitExpired":
          this.#waits.delete((JSON.parse(text) as { readonly wait_id: number }).wait_id);
          break;
        case "RequestStarted":
          this.#mayBeIdle = false;
          break;
        case "MessageReceived":
          if (this.#address.kind === "request" && this.#address.messageEvent === idOf(text))
            this.#completed = true;
          break;
        case "RequestCompleted":
          if (depthOf(text) === 0) this.#sawEnd(requestIdOf(text));
          break;
        default:
          break;
      }
    }
  }

  /** Whether a check is useful: most of the time a stream is in the middle of a turn. */
  get mayBeReached(): boolean {
    return this.#waits.size > 0 || (this.#address.kind === "run" && this.#mayBeIdle);
  }

  /** Checks whether everything is delivered and there is nothing more to wait for. */
  async reached(): Promise<boolean> {
    const { kind, runId } = this.#address;
    if (kind === "run") {
      const run = await this.#log.run(runId);
      if (run === undefined || run.removed === true || run.status === "idle") return true;
      return this.#waits.size > 0 && run.status === "waiting";
    }
    const entry = await this.#log.lookup(this.#address.requestId);
    return entry === undefined || entry.phase === "waiting" || entry.phase === "completed";
  }

  #sawEnd(requestId: string | null): void {
    this.#mayBeIdle = true;
    this.#waits.clear();
    if (this.#address.kind === "request" && this.#address.requestId === requestId) this.#completed = true;
  }
}
