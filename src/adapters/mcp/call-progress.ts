import type { ProgressToken, ServerContext } from "@modelcontextprotocol/server";
import { processClock } from "../../http/process-clock.ts";
import type { JsonObject } from "../../protocol/json.ts";

/**
 * Tells a caller what an agent says and what its tools report while they work. The protocol asks for a limited rate: the first text
 * goes out at once, and those that come soon after a notification gather for the next one.
 */
export class CallProgress {
  readonly #ctx: ServerContext;
  readonly #token: ProgressToken;
  readonly #meta: JsonObject;
  #progress = 0;
  #sentAt = -Infinity;
  #gathered = "";
  #stopTimer: (() => void) | undefined;

  constructor(ctx: ServerContext, token: ProgressToken, meta: JsonObject) {
    this.#ctx = ctx;
    this.#token = token;
    this.#meta = meta;
  }

  /** Takes the next text; the first one may be empty, which tells that the call has begun. */
  async add(text: string): Promise<void> {
    this.#gathered += text;
    if (this.#stopTimer !== undefined || (this.#gathered === "" && this.#progress > 0)) return;
    const leftMs = this.#sentAt + PAUSE_MS - processClock.monotonic();
    if (leftMs <= 0) return this.#send();
    // A client that has gone gets nothing.
    this.#stopTimer = processClock.timer(leftMs, () => void this.#send().catch(() => {}));
  }

  /** Sends what has gathered. Nothing may be added after that. */
  async end(): Promise<void> {
    if (this.#gathered !== "") await this.#send();
    this.#stopTimer?.();
  }

  async #send(): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const message = this.#gathered;
    this.#gathered = "";
    const { notify, signal } = this.#ctx.mcpReq;
    if (signal.aborted) return;
    this.#sentAt = processClock.monotonic();
    this.#progress += 1;
    await notify({
      method: "notifications/progress",
      params: {
        progressToken: this.#token,
        progress: this.#progress,
        ...(message !== "" && { message }),
        _meta: this.#meta,
      },
    });
  }
}

const PAUSE_MS = 50;
