import { AgentError } from "../errors.ts";
import type { AgentDescriptor } from "../protocol/answers/descriptor.ts";
import type { Event } from "../protocol/events/events.ts";
import type { ArtifactId, RequestId, RunId } from "../protocol/ids.ts";
import type { Request, ResumeWithInput, TurnRequest } from "../protocol/requests/requests.ts";
import type { RequestStatus, RunSummary } from "../protocol/answers/status.ts";
import type { Answer, Client, ClientOptions, ProcessOptions, StreamOptions } from "./client-api.ts";
import { follow } from "./stream/reconnect.ts";
import { followLimits } from "./stream/follow-settings.ts";
import type { RequestProgress } from "./stream/request-progress.ts";
import type { Followed } from "./stream/followed.ts";
import { UnansweredWaits } from "./stream/unanswered-waits.ts";
import { retry } from "./wire/retry.ts";
import { isTransient } from "./wire/problem.ts";
import { toProgress } from "./stream/request-progress.ts";
import { Wire } from "./wire/wire.ts";
import type { Ask, Reply } from "./wire/wire.ts";

/**
 * Creates a client for the address of an agent, for example `http://127.0.0.1:4100/echo`. It keeps no
 * connection open.
 */
export function createClient(url: string, { attempts = 4, ...options }: ClientOptions = {}): Client {
  const wire = new Wire(url, options);

  /** Makes a request that is safe to repeat. */
  function ask(method: string, path: string, given: Ask): Promise<Reply> {
    const { signal } = given;
    return retry({ clock: wire.clock, attempts, signal }, () => wire.ask(method, path, given));
  }

  async function process(
    request: Request,
    { wait = "none", waitMs, signal }: ProcessOptions = {},
  ): Promise<Answer> {
    const { json, headers } = await ask("POST", "/process", {
      query: { wait: WAITS[wait], wait_ms: waitMs },
      body: repeatable(request),
      signal,
      timeoutMs: ANSWER_MS + (wait === "none" ? 0 : (waitMs ?? WAIT_MS)),
    });
    return toAnswer(wire.subject, json, headers.get("idempotent-replayed") === "true");
  }

  async function* stream(
    followed: TurnRequest | ResumeWithInput | RequestId | RunId,
    { after, forever = false, signal, ...limits }: StreamOptions = {},
  ): AsyncGenerator<Event, void> {
    const start =
      typeof followed === "string" ? { id: followed, after, skip: 0 } : await begin(followed, signal);
    const waits = new UnansweredWaits();
    const events = follow(wire, {
      path: `/getevents/${encodeURIComponent(start.id)}`,
      query: { follow: forever || undefined },
      since: start.after,
      after: start.after,
      limits: { ...followLimits, ...limits },
      signal,
      openWaits: () => (forever ? 0 : waits.size),
      progress: () => progressOf(start.id, signal),
    });
    for await (const followed of events) {
      if (followed.type !== "events") continue;
      for (const event of followed.events) {
        waits.saw(event);
        if (event.id <= start.skip) continue;
        yield event as unknown as Event;
        const isEnd = event.type === "RequestCompleted" && event["depth"] === 0;
        if (isEnd && !forever && event["request_id"] === start.id) return;
      }
    }
  }

  function followForever(
    id: RequestId | RunId,
    { after = 0, signal }: { readonly after?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Followed<Event>, void> {
    return follow(wire, {
      path: `/getevents/${encodeURIComponent(id)}`,
      query: { follow: true },
      after,
      limits: { ...followLimits, unreachableMs: Infinity },
      signal,
      openWaits: () => 0,
      progress: async () => ({}),
    }) as AsyncGenerator<Followed<Event>, void>;
  }

  /** Sends a request and finds the first event to read. */
  async function begin(
    request: TurnRequest | ResumeWithInput,
    signal: AbortSignal | undefined,
  ): Promise<Start> {
    const { requestId: id, event } = await process(request, {
      wait: "acknowledged",
      ...(signal && { signal }),
    });
    const before = event === undefined ? 0 : event.id - 1;
    // The stream may need a wait from before this answer to detect its end, so that wait must be read too.
    return request.type === "ResumeWithInput"
      ? { id, after: undefined, skip: before }
      : { id, after: before, skip: 0 };
  }

  /** The progress of a request; empty for a run, or if the server does not report it. */
  async function progressOf(id: string, signal: AbortSignal | undefined): Promise<RequestProgress> {
    try {
      const { json } = await wire.ask("GET", `/request/${encodeURIComponent(id)}`, { signal });
      return toProgress(json);
    } catch (thrown) {
      if (isTransient(thrown)) throw thrown;
      return {};
    }
  }

  return {
    url: wire.url,
    async describe({ signal } = {}) {
      const { json } = await ask("GET", "/describe", { signal });
      return json as AgentDescriptor;
    },
    process,
    stream,
    follow: followForever,
    resume: (requestId, values, { waitId, resumeId, ...options } = {}) =>
      process(
        {
          type: "ResumeWithInput",
          request_id: requestId,
          request_keys: values,
          ...(waitId !== undefined && { wait_id: waitId }),
          ...(resumeId !== undefined && { resume_id: resumeId }),
        },
        options,
      ),
    cancel: (requestId, options) =>
      process({ type: "CancelRequest", request_id: requestId }, { wait: "acknowledged", ...options }),
    async status(requestId, { signal } = {}) {
      const { json } = await ask("GET", `/request/${encodeURIComponent(requestId)}`, { signal });
      return json as RequestStatus;
    },
    async runs({ signal, ...query } = {}) {
      const { json, headers } = await ask("GET", "/runs", { query, signal });
      const next = nextOf(wire, headers);
      return { runs: json as readonly RunSummary[], ...(next !== undefined && { next }) };
    },
    async upload({ name, mimeType, data, runId }, { signal } = {}) {
      const { json } = await wire.ask("POST", "/artifacts", {
        query: { name, run_id: runId },
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
    },
    async artifact(url, { signal } = {}) {
      const { response } = await wire.openFile(url, { signal });
      return response;
    },
  };
}

/** The first event to read and the first event to return. */
interface Start {
  readonly id: string;
  readonly after: number | undefined;
  readonly skip: number;
}

/** How a wait is written in the query; the draft of the protocol has only `true`. */
const WAITS = { none: undefined, acknowledged: true, completed: "completed" } as const;

/** Maximum time for an answer in addition to the wait. */
const ANSWER_MS = 30_000;
const WAIT_MS = 30_000;
const UPLOAD_MS = 10 * 60_000;

/** Adds the ids that make it safe to send the request twice. */
function repeatable(request: Request): Request {
  switch (request.type) {
    case "ChatRequest":
    case "OperationRequest":
    case "Message":
      return { ...request, request_id: request.request_id ?? (`req_${crypto.randomUUID()}` as RequestId) };
    case "ResumeWithInput":
      return { ...request, resume_id: request.resume_id ?? `res_${crypto.randomUUID()}` };
    case "CancelRequest":
    case "ConfigureRequest":
      return request;
    default: {
      const never: never = request;
      return never;
    }
  }
}

function toAnswer(subject: string, json: unknown, replayed: boolean): Answer {
  const given = (json ?? {}) as Partial<Event>;
  const { run_id: runId, type } = given;
  // The event of a message belongs to the turn that was open, or to none.
  const requestId = type === "MessageReceived" ? given.message_id : given.request_id;
  if (typeof requestId !== "string")
    throw new AgentError("call_failed", `${subject} answers without a request_id`);
  const ids = { requestId, runId: runId ?? null, replayed };
  return type === undefined ? ids : { ...ids, event: json as Event };
}

function nextOf(wire: Wire, headers: Headers): string | undefined {
  const link = /<([^>]+)>;\s*rel="next"/.exec(headers.get("link") ?? "")?.[1];
  return link === undefined ? undefined : (wire.resolve(link)?.searchParams.get("cursor") ?? undefined);
}
