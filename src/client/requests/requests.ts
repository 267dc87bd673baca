import { AgentError } from "../../errors.ts";
import type { Event } from "../../protocol/events/events.ts";
import type { RequestId, RunId } from "../../protocol/ids.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Request } from "../../protocol/requests/requests.ts";
import type { RequestStatus } from "../../protocol/answers/status.ts";
import { randomId } from "../wire/random-id.ts";
import { retry } from "../wire/retry.ts";
import { Wire } from "../wire/wire.ts";
import type { Ask, Reply, WireOptions } from "../wire/wire.ts";

/** What a server says when it has accepted a request. */
export interface Accepted {
  readonly requestId: RequestId;
  /** `null` only for the configuration of an agent. */
  readonly runId: RunId | null;
}

/** The requests to one address, an agent's or a server's. Those that are safe to repeat are repeated. */
export class Requests {
  readonly wire: Wire;
  readonly #attempts: number;
  readonly #options: WireOptions;

  constructor(url: string, attempts: number, options: WireOptions) {
    this.wire = new Wire(url, options);
    this.#attempts = attempts;
    this.#options = options;
  }

  /** The requests to an agent of this server. */
  of(agent: string): Requests {
    return new Requests(`${this.wire.url}/${encodeURIComponent(agent)}`, this.#attempts, this.#options);
  }

  /** Makes a request that is safe to repeat. */
  ask(method: string, path: string, given: Ask = {}): Promise<Reply> {
    const { clock } = this.wire;
    return retry({ clock, attempts: this.#attempts, signal: given.signal }, () =>
      this.wire.ask(method, path, given),
    );
  }

  /** Sends a request of the protocol, which must be safe to repeat. */
  async process(
    request: Request,
    { wait, signal }: { readonly wait?: true; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Accepted> {
    const { json } = await this.ask("POST", "/process", {
      query: { wait },
      body: request,
      signal,
      timeoutMs: ANSWER_MS,
    });
    const { request_id: requestId, run_id: runId } = (json ?? {}) as Partial<Event>;
    if (typeof requestId !== "string")
      throw new AgentError("call_failed", `${this.wire.subject} answers without a request_id`);
    return { requestId, runId: runId ?? null };
  }

  /** Answers a wait; resolves when the answer is in the log. */
  async resume(requestId: RequestId, waitId: number, values: JsonObject): Promise<void> {
    await this.process(
      {
        type: "ResumeWithInput",
        request_id: requestId,
        wait_id: waitId,
        request_keys: values,
        resume_id: randomId("res_"),
      },
      { wait: true },
    );
  }

  /** Cancels a request; resolves when that is in the log. */
  async cancel(requestId: RequestId): Promise<void> {
    await this.process({ type: "CancelRequest", request_id: requestId }, { wait: true });
  }

  async status(requestId: RequestId, signal?: AbortSignal): Promise<RequestStatus> {
    const { json } = await this.ask("GET", `/request/${encodeURIComponent(requestId)}`, { signal });
    return (json ?? {}) as RequestStatus;
  }

  /** A list that the server has sent. */
  list(json: unknown): readonly unknown[] {
    if (Array.isArray(json)) return json;
    throw new AgentError("call_failed", `${this.wire.subject} did not answer with a list`);
  }

  /** The events behind one, page by page, up to the newest. */
  async *pages(id: string, after: number, signal?: AbortSignal): AsyncGenerator<readonly Event[], void> {
    for (let since = after; ;) {
      const path = `/getevents/${encodeURIComponent(id)}`;
      const { json, headers } = await this.ask("GET", path, { query: { since }, signal });
      const page = this.list(json) as readonly Event[];
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      if (this.next(headers) === undefined) return;
      since = last.id;
    }
  }

  /** The cursor of the next page. */
  next(headers: Headers): string | undefined {
    const link = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
    const query = link === undefined ? undefined : this.wire.resolve(link)?.searchParams;
    return query?.get("cursor") ?? query?.get("since") ?? undefined;
  }
}

/** Maximum time for an answer, with the wait for its event. */
const ANSWER_MS = 60_000;
