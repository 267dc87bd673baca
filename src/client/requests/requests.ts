import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { ArtifactId, RequestId, RunId } from "../../protocol/ids.ts";
import type { Json, JsonObject } from "../../protocol/json.ts";
import type { Request, TurnRequest } from "../../protocol/requests/requests.ts";
import type { RequestStatus } from "../../protocol/answers/status.ts";
import { LruMap } from "../../shared/lru-map.ts";
import { endOf, withTextId } from "../stream/received-events.ts";
import { unlessMissing } from "../wire/problem.ts";
import { randomId } from "../wire/random-id.ts";
import { retry } from "../wire/retry.ts";
import { nextQuery, Wire } from "../wire/wire.ts";
import type { Ask, WireReply } from "../wire/wire.ts";
import type { AgentCallOptions, Interruptible } from "../call-api.ts";
import type { ClientOptions, Upload, UploadedFile } from "../client-api.ts";
import type { FollowSettings } from "../stream/follow-settings.ts";
import type { Followed } from "../stream/followed.ts";
import type { ReceivedEvent } from "../stream/received-events.ts";
import { followStream } from "../stream/reconnect.ts";

/** What a server says when it has accepted a request. */
export interface RequestReceipt {
  readonly requestId: RequestId;
  /** Absent if the server answers with a status only, as the draft of the protocol allows: its events have the run. */
  readonly runId?: RunId;
  /** Its end, if it is an operation that only reads: it has no events. */
  readonly end?: EventOf<"RequestCompleted">;
}

/** A part of a list. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  /** The cursor of the next page; absent on the last page. */
  readonly next?: string;
}

/** The requests to one address, an agent's or a server's. Those that are safe to repeat are repeated. */
export class Requests {
  readonly wire: Wire;
  /** The requests to the server of an agent, as far as its address is known. */
  readonly server: Requests;
  readonly #options: ClientOptions;
  /** The page after each page of a list that was read. */
  readonly #next = new LruMap<string, string>(PAGES_KNOWN);

  constructor(url: string, options: ClientOptions, server?: Requests) {
    this.server = server ?? this;
    this.wire = new Wire(url, options);
    this.#options = options;
  }

  /** The requests to an agent of this server. */
  of(agent: string): Requests {
    return new Requests(`${this.wire.url}/${encodeURIComponent(agent)}`, this.#options, this);
  }

  /** Makes a request that is safe to repeat. */
  ask(method: string, path: string, given: Ask = {}): Promise<WireReply> {
    const { clock } = this.wire;
    const { attempts = 4 } = this.#options;
    return retry({ clock, attempts, signal: given.signal }, () => this.wire.ask(method, path, given));
  }

  /** Reads a list, or a page of it. */
  async list<Item>(path: string, given?: Ask): Promise<ListPage<Item>> {
    const { json, headers } = await this.ask("GET", path, given);
    if (!Array.isArray(json)) throw this.wire.fault("call_failed", "did not answer with a list");
    const query = nextQuery(headers);
    const next = query.get("cursor") ?? query.get("since");
    const { cursor, since, ...filter } = given?.query ?? {};
    if (next !== null) this.#checkNext(JSON.stringify([path, filter]), String(cursor ?? since), next);
    return { items: json as readonly Item[], ...(next !== null && { next }) };
  }

  /** Throws if the pages of a list lead back to this one: a reader of all pages would never reach the end. */
  #checkNext(list: string, page: string, next: string): void {
    this.#next.set(list + page, next);
    let later: string | undefined = next;
    for (let steps = 0; later !== undefined && steps < PAGES_KNOWN; steps += 1) {
      if (later === page) throw this.wire.fault("call_failed", "names a next page that was read before");
      later = this.#next.get(list + later);
    }
  }

  /** Follows a stream with the limits of the client. */
  follow(
    path: string,
    settings: Omit<FollowSettings, "path">,
  ): AsyncGenerator<Followed<ReceivedEvent>, void> {
    return followStream(this.wire, {
      ...settings,
      path,
      limits: { ...this.#options.limits, ...settings.limits },
    });
  }

  /** Sends a request of the protocol, which must be safe to repeat. Resolves when it is in the log. */
  process(request: Request, signal?: AbortSignal): Promise<WireReply> {
    // A message is in the log before any answer.
    const query = request.type === "Message" ? {} : { wait: true };
    return this.ask("POST", "/process", { query, body: request, signal, timeoutMs: ANSWER_MS });
  }

  /** Sends a request for a turn, which must be safe to repeat. Resolves when it is accepted, also if it is queued. */
  async begin(request: NamedRequest): Promise<RequestReceipt> {
    // Without `wait`, a server of the draft answers with a status and keeps the ids to itself.
    const query = { wait: true, wait_ms: 0 };
    const { json } = await this.ask("POST", "/process", { query, body: request, timeoutMs: ANSWER_MS });
    if (json === undefined) return { requestId: request.request_id };
    const { request_id: requestId, run_id: runId } = withTextId(json ?? {}) as Partial<Event>;
    if (typeof requestId !== "string") throw this.wire.fault("call_failed", "answers without a request_id");
    const end = endOf(json);
    return { requestId, ...(typeof runId === "string" && { runId }), ...(end && { end }) };
  }

  /** Uploads a file. It is not repeated: each upload makes a file. */
  async upload(
    { name, mimeType, data, runId }: Upload,
    { signal }: Interruptible = {},
  ): Promise<UploadedFile> {
    const { json } = await this.wire.ask("POST", "/artifacts", {
      query: { name, runId },
      raw: data,
      headers: { "content-type": mimeType },
      signal,
      timeoutMs: UPLOAD_MS,
    });
    const { artifact_id: artifactId, url } = json as {
      readonly artifact_id: ArtifactId;
      readonly url: string;
    };
    return { artifactId, url };
  }

  /** Answers a wait; resolves when the answer is in the log. */
  async resume(requestId: RequestId, waitId: number, values: JsonObject): Promise<void> {
    await this.process({
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId,
      request_keys: values,
      resume_id: randomId("res_"),
    });
  }

  /** Cancels a request; resolves when that is in the log. */
  async cancel(requestId: RequestId): Promise<void> {
    await this.process({ type: "CancelRequest", request_id: requestId });
  }

  async status(requestId: RequestId, signal?: AbortSignal): Promise<RequestStatus> {
    const { json } = await this.ask("GET", `/request/${encodeURIComponent(requestId)}`, { signal });
    return (json ?? {}) as RequestStatus;
  }

  /** The state of a request; empty if the server does not tell it. */
  async progress(requestId: RequestId, signal?: AbortSignal): Promise<Partial<RequestStatus>> {
    return (await this.status(requestId, signal).catch(unlessMissing)) ?? {};
  }

  /** The events behind one, page by page, up to the newest. A page is empty if a filter drops all its events. */
  async *pages(id: string, after: number, signal?: AbortSignal): AsyncGenerator<readonly Event[], void> {
    for (let since: number | string | undefined = after; since !== undefined;) {
      const page: ListPage<Event> = await this.list(eventsPath(id), { query: { since }, signal });
      yield page.items.map(withTextId);
      since = page.next;
    }
  }
}

/** The requests of a client of an agent, which shows only its address. */
export function requestsBehind(client: object): Requests | undefined {
  return known.get(client);
}

/** Keeps the requests of a client of an agent. */
export function keepRequests<Kept extends object>(client: Kept, requests: Requests): Kept {
  known.set(client, requests);
  return client;
}

const known = new WeakMap<object, Requests>();

/** The request for a turn that a call makes. */
export function toTurnRequest(
  body: TurnBody,
  requestId: RequestId,
  { runId, key, metadata, onBusy, loggingLevel, attachments, tools }: AgentCallOptions,
): NamedRequest {
  // JSON leaves out what is undefined.
  return {
    ...body,
    request_id: requestId,
    run_id: runId,
    key,
    request_metadata: metadata,
    on_busy: onBusy,
    logging_level: loggingLevel,
    attachments,
    tools,
  } as NamedRequest;
}

/** What a request for a turn asks. */
export type TurnBody =
  | { readonly type: "ChatRequest"; readonly input: string }
  | { readonly type: "OperationRequest"; readonly operation: string; readonly input: Json };

/** A request for a turn, whose id the client has chosen. */
export type NamedRequest = TurnRequest & { readonly request_id: RequestId };

/** Follows a run or a request across waits and turns, however long its server cannot be reached. */
export function followRun(
  requests: Requests,
  id: RunId | RequestId,
  { after = 0, signal }: Interruptible & { readonly after?: number } = {},
): AsyncGenerator<Followed<Event>, void> {
  const limits = { unreachableMs: Infinity };
  const stream = requests.follow(eventsPath(id), { query: { follow: true }, after, signal, limits });
  return stream as AsyncGenerator<Followed<Event>, void>;
}

/** The path of the events of a run or a request. */
export function eventsPath(id: string): string {
  return `/getevents/${encodeURIComponent(id)}`;
}

/** How many pages of lists are remembered, with the page after each. */
const PAGES_KNOWN = 1_000;

/** Maximum time for an answer, with the wait for its event. */
const ANSWER_MS = 60_000;

const UPLOAD_MS = 10 * 60_000;
