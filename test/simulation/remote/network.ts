import type { JsonObject } from "../../../src/protocol/json.ts";
import type { Picker } from "../../laws/program.ts";
import type { RemoteAnswer, RemoteRequest, RemoteServer } from "./server.ts";
import { outsider } from "../scheduler.ts";
import type { Doer, Scheduler } from "../scheduler.ts";

/** The network between a process and the remote server. */
export interface RemoteNetworkOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  readonly side: RemoteServer;
  /** The percentage of requests, answers and connections that are lost. */
  readonly lossPercent: number;
}

/** A request over the network. */
interface Invocation {
  readonly method: string;
  readonly path: string;
  readonly after: number;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/**
 * The maximum number of requests in a row that are lost by chance: a client that retries long enough gets an
 * answer.
 */
const LOST_IN_ROW = 3;

/**
 * The connection to the remote server, where anything can get lost: a `fetch` whose answers are scheduled
 * steps.
 */
export class RemoteNetwork {
  readonly #options: RemoteNetworkOptions;
  /** Ends the open connections. */
  readonly #open = new Set<() => void>();
  #downUntilMs = 0;
  #lostInRow = 0;

  constructor(options: RemoteNetworkOptions) {
    this.#options = options;
  }

  /** Breaks all connections and blocks new ones for a while. */
  breakFor(ms: number): void {
    this.#downUntilMs = this.#options.scheduler.nowMs + ms;
    for (const lose of this.#open) lose();
  }

  readonly fetch = (url: unknown, init: RequestInit = {}): Promise<Response> => {
    const { scheduler } = this.#options;
    const { pathname } = new URL(url as string);
    const asked = {
      method: init.method ?? "GET",
      path: pathname.replace("/agents/remote", ""),
      after: Number((init.headers as Readonly<Record<string, string>>)["last-event-id"] ?? 0),
      body: init.body,
      signal: init.signal as AbortSignal,
    };
    // The caller may be gone when the answer arrives.
    const doer = scheduler.doer;
    return new Promise((resolve, reject) => {
      const lose = (): void => scheduler.post(doer, () => reject(new TypeError("the connection is lost")));
      asked.signal.addEventListener("abort", () => reject(asked.signal.reason as Error));
      const arrive = (): void => {
        if (this.#isLost()) lose();
        else
          this.#answer(asked, doer).then((response) => {
            // The request was processed anyway.
            if (this.#isLost()) lose();
            else {
              this.#lostInRow = 0;
              scheduler.post(doer, () => resolve(response as unknown as Response));
            }
          }, reject);
      };
      this.#later(arrive);
    });
  };

  #isLost(): boolean {
    const { pick, lossPercent, scheduler } = this.#options;
    if (scheduler.nowMs < this.#downUntilMs) return true;
    const isLost = lossPercent > 0 && pick.chance(lossPercent) && this.#lostInRow < LOST_IN_ROW;
    if (isLost) this.#lostInRow += 1;
    return isLost;
  }

  #later(run: () => void): void {
    const { pick, scheduler } = this.#options;
    if (pick.chance(80)) scheduler.post(outsider, run);
    else scheduler.timer(outsider, 1 + pick.below(100), run);
  }

  async #answer({ method, path, after, body, signal }: Invocation, doer: Doer): Promise<FarResponse> {
    const { side } = this.#options;
    const [, what, id = ""] = path.split("/");
    if (what === "process") return toResponse(side.process(JSON.parse(body as string) as JsonObject));
    if (what === "request") return toResponse(side.status(id));
    if (what === "artifacts" && method === "POST") return toResponse(side.upload(await textOf(body)));
    if (what === "artifacts") {
      const content = side.files.get(id);
      return content === undefined ? toResponse(MISSING) : fileOf(content);
    }
    const request = side.requests.get(id);
    return request === undefined ? toResponse(MISSING) : this.#stream(request, { after, signal, doer });
  }

  /** The events of a request as they arrive, until it waits or has ended. */
  #stream(
    request: RemoteRequest,
    { after, signal, doer }: { readonly after: number; readonly signal: AbortSignal; readonly doer: Doer },
  ): FarResponse {
    const { pick, scheduler, lossPercent } = this.#options;
    let cursor = after;
    let waiting: PromiseWithResolvers<Piece> | undefined;
    let lost = false;
    const close = (): void => {
      request.readers.delete(tell);
      this.#open.delete(lose);
      signal.removeEventListener("abort", abort);
    };
    const settle = (how: (read: PromiseWithResolvers<Piece>) => void): void => {
      const read = waiting;
      waiting = undefined;
      if (read) scheduler.post(doer, () => how(read));
    };
    const lose = (): void => {
      lost = true;
      settle(({ reject }) => reject(new TypeError("the connection is lost")));
    };
    const abort = (): void => {
      close();
      waiting?.reject(signal.reason);
    };
    const tell = (): void => {
      if (waiting === undefined) return;
      const { events, status } = request;
      if (lossPercent > 0 && pick.chance(lossPercent)) lost = true;
      if (lost) lose();
      else if (cursor < events.length) {
        const first = cursor;
        cursor = Math.min(events.length, cursor + 1 + pick.below(3));
        const frames = events
          .slice(first, cursor)
          .map((event, index) => `id: ${first + index + 1}\ndata: ${event}\n\n`);
        settle(({ resolve }) => resolve({ done: false, value: encoder.encode(frames.join("")) }));
      } else if (status !== "running") settle(({ resolve }) => resolve({ done: true, value: undefined }));
    };
    request.readers.add(tell);
    this.#open.add(lose);
    signal.addEventListener("abort", abort);
    const read = (): Promise<Piece> => {
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      tell();
      return promise;
    };
    return { ...OK, headers: new Map([["content-type", "text/event-stream"]]), body: bodyOf(read, close) };
  }
}

/** The used parts of a `Response`: a real one costs more than a simulation. */
interface FarResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly type: "default";
  readonly headers: ReadonlyMap<string, string>;
  readonly body: { getReader(): unknown; cancel(): Promise<void> };
}

type Piece =
  | { readonly done: false; readonly value: Uint8Array }
  | { readonly done: true; readonly value: undefined };

const encoder = new TextEncoder();
const OK = { status: 200, ok: true, type: "default" } as const;
const MISSING: RemoteAnswer = [404, { detail: "there is no such thing" }];

/** The description of the remote agent. */
export const DESCRIPTION: JsonObject = { purpose: "Plays parts.", operations: [{ name: "perform" }] };

function toResponse([status, json]: RemoteAnswer): FarResponse {
  const ok = status < 400;
  return { ...OK, status, ok, headers: new Map(), body: onceOf(JSON.stringify(json)) };
}

function fileOf(content: string): FarResponse {
  return { ...OK, headers: new Map(), body: onceOf(content) };
}

function onceOf(text: string): FarResponse["body"] {
  const pieces: Piece[] = [
    { done: true, value: undefined },
    { done: false, value: encoder.encode(text) },
  ];
  return bodyOf(
    async () => pieces.pop() ?? { done: true, value: undefined },
    () => {},
  );
}

function bodyOf(read: () => Promise<Piece>, close: () => void): FarResponse["body"] {
  const cancel = async (): Promise<void> => close();
  return { getReader: () => ({ read, cancel }), cancel };
}

async function textOf(body: unknown): Promise<string> {
  return body instanceof Blob ? body.text() : String(body);
}
