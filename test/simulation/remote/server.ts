import type { JsonObject } from "../../../src/protocol/json.ts";
import type { Picker } from "../../laws/program.ts";
import { remotePart } from "./part.ts";
import type { RemoteStep } from "./part.ts";
import { outsider } from "../scheduler.ts";
import type { Scheduler } from "../scheduler.ts";

/** A request that the remote server has accepted. */
export interface RemoteRequest {
  readonly requestId: string;
  readonly program: number;
  readonly attachments: readonly string[];
  /** Its encoded events; the position of each is its id. */
  readonly events: string[];
  /** The answers it received, by the key of the question. */
  readonly answers: Map<string, JsonObject>;
  status: "running" | "waiting" | "completed";
  /** The end, as in the answer of a status request. */
  end?: JsonObject;
  /** The open question, and the questions that answers have closed. */
  question?: { readonly waitId: number; readonly key: string };
  readonly resumed: Map<number, string>;
  next: number;
  /** Called when there is a new event. */
  readonly readers: Set<() => void>;
}

/** The answer of a server: a status and JSON. */
export type RemoteAnswer = readonly [status: number, json: JsonObject];

/** The simulation as the remote server sees it. */
export interface RemoteServerOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  /** Called for each request that starts here, with its program. */
  readonly begun: (program: number) => void;
}

/** A remote server that forgets nothing, whose agent runs generated programs. */
export class RemoteServer {
  readonly requests = new Map<string, RemoteRequest>();
  readonly files = new Map<string, string>();
  readonly #options: RemoteServerOptions;

  constructor(options: RemoteServerOptions) {
    this.#options = options;
  }

  /** Accepts any request; a repeated one has no effect. */
  process(body: JsonObject): RemoteAnswer {
    const known = this.requests.get(body["request_id"] as string);
    switch (body["type"]) {
      case "OperationRequest":
        return this.#begin(known, body);
      case "ResumeWithInput":
        return this.#resume(known, body);
      default:
        return this.#cancel(known);
    }
  }

  /** The status of a request. */
  status(requestId: string): RemoteAnswer {
    const request = this.requests.get(requestId);
    if (request === undefined) return UNKNOWN;
    const { status, events, end = {} } = request;
    return [200, { ...end, status, last_event_id: events.length }];
  }

  /** Stores a file; its id is derived from its content. */
  upload(content: string): RemoteAnswer {
    const id = `file-${this.files.size + 1}`;
    this.files.set(id, content);
    return [201, { artifact_id: id }];
  }

  #begin(
    known: RemoteRequest | undefined,
    { request_id: id, input, attachments = [] }: JsonObject,
  ): RemoteAnswer {
    const request =
      known ?? this.#create(id as string, input as unknown as Invocation, attachments as readonly string[]);
    return [202, { request_id: request.requestId, run_id: `run-${request.requestId}` }];
  }

  #create(requestId: string, { program }: Invocation, attachments: readonly string[]): RemoteRequest {
    const request: RemoteRequest = {
      requestId,
      program,
      attachments,
      events: [],
      answers: new Map(),
      status: "running",
      resumed: new Map(),
      next: 0,
      readers: new Set(),
    };
    this.requests.set(requestId, request);
    this.#options.begun(program);
    this.#say(request, { type: "RequestStarted", operation: "perform", input: { program } });
    this.#goOn(request);
    return request;
  }

  #resume(
    request: RemoteRequest | undefined,
    { wait_id: waitId, request_keys: values, resume_id: id }: JsonObject,
  ): RemoteAnswer {
    if (request === undefined) return UNKNOWN;
    const { question } = request;
    if (request.resumed.get(waitId as number) === id) return [200, { request_id: request.requestId }];
    if (question === undefined || question.waitId !== waitId)
      return [409, { detail: "it does not wait for this" }];
    request.resumed.set(question.waitId, id as string);
    request.answers.set(question.key, values as JsonObject);
    delete request.question;
    request.status = "running";
    this.#say(request, {
      type: "ResumeWithInput",
      wait_id: question.waitId,
      request_keys: values as JsonObject,
    });
    this.#goOn(request);
    return [200, { request_id: request.requestId }];
  }

  #cancel(request: RemoteRequest | undefined): RemoteAnswer {
    if (request === undefined) return UNKNOWN;
    if (request.status === "completed") return [409, { detail: "it has ended" }];
    delete request.question;
    this.#end(request, { finish_reason: "canceled", result: null, output: null });
    return [200, { request_id: request.requestId }];
  }

  /** Takes the next step after a delay. */
  #goOn(request: RemoteRequest): void {
    const { pick, scheduler } = this.#options;
    const step = (): void => {
      if (request.status === "running") this.#step(request);
    };
    if (pick.chance(70)) scheduler.post(outsider, step);
    else scheduler.timer(outsider, 1 + pick.below(200), step);
  }

  #step(request: RemoteRequest): void {
    const { steps, ok, value } = remotePart(request.program);
    const step = steps[request.next];
    request.next += 1;
    if (step === undefined) {
      const error = { code: "agent_error", message: "it fails" };
      this.#end(
        request,
        ok
          ? { finish_reason: "success", result: null, output: value }
          : { finish_reason: "error", result: null, output: null, error },
      );
      return;
    }
    for (const body of bodiesOf(step, request.events.length + 1)) this.#say(request, body);
    if (step.do === "file") this.files.set(step.name, step.name);
    if (step.do !== "ask") {
      this.#goOn(request);
      return;
    }
    request.status = "waiting";
    request.question = { waitId: request.events.length, key: step.key };
  }

  #end(request: RemoteRequest, end: JsonObject): void {
    request.status = "completed";
    request.end = end;
    this.#say(request, { type: "RequestCompleted", ...end });
  }

  #say({ events, requestId, readers }: RemoteRequest, body: JsonObject): void {
    const run = { run_id: `run-${requestId}`, request_id: requestId, agent: "remote", depth: 0 };
    events.push(JSON.stringify({ id: events.length + 1, ...run, ...body }));
    for (const wake of readers) wake();
  }
}

/** The events of a step; the first one gets an id. */
function bodiesOf(step: RemoteStep, id: number): readonly JsonObject[] {
  switch (step.do) {
    case "text":
      return [{ type: "TextOutput", content: step.content }];
    case "tool": {
      const call = { function_name: step.name, tool_call_id: step.name };
      return [
        { type: "ToolCall", ...call, args: {} },
        { type: "ToolResult", ...call, text_result: "done", result: "done" },
      ];
    }
    case "complete": {
      const call = { call_id: step.name, model: step.name };
      return [
        { type: "CompletionCall", ...call, attempt: 1 },
        { type: "TextOutput", content: step.name, call_id: step.name, attempt: 1 },
        { type: "CompletionResult", ...call, usage: {}, elapsed_ms: 1, result: step.name },
      ];
    }
    case "ask":
      return [{ type: "WaitForInput", wait_id: id, request_keys: { [step.key]: `${step.key}?` } }];
    case "file":
      return [
        {
          type: "ArtifactGenerated",
          name: step.name,
          artifact_id: step.name,
          url: `/artifacts/${step.name}`,
          mime_type: "text/plain",
          size_bytes: step.name.length,
        },
      ];
    default: {
      const never: never = step;
      return never;
    }
  }
}

const UNKNOWN: RemoteAnswer = [404, { detail: "there is no such request" }];

interface Invocation {
  readonly program: number;
}
