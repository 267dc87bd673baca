import { setTimeout } from "node:timers/promises";
import { idOf, requestIdOf } from "../../src/protocol/events/encode.ts";
import type { Event } from "../../src/protocol/events/events.ts";
import type { Random } from "../../src/testing/event-log/random.ts";
import { agentNames } from "./server/agents.ts";
import { toMail, toRequest } from "./requests.ts";
import type { Mail } from "./requests.ts";
import type { Journal } from "./journal.ts";
import { Patience } from "./patience.ts";

/** The environment of a client. */
export interface ClientOptions {
  readonly name: string;
  readonly random: Random;
  readonly journal: Journal;
  /** The address of the server, once it has one. */
  readonly address: () => Promise<string>;
  /** Whether to start another turn, and when. */
  readonly goesOn: () => boolean | Promise<boolean>;
  /** The agents that it uses. Default: all. */
  readonly agents?: readonly string[];
  /**
   * How long it waits for the next byte before it asks again, in milliseconds; longer while no event comes, so that a slow
   * server can answer. Default: forever.
   */
  readonly patienceMs?: number;
  /** A server has not answered a request. */
  readonly unanswered?: (address: string) => void;
  /** Whether it leaves some streams in the middle and continues them with a new connection. Default false. */
  readonly hops?: boolean;
  /** Whether it cancels some turns. Default true. */
  readonly cancels?: boolean;
  readonly watch?: TurnWatch;
}

/** Gets what a client sees of its turns. */
export interface TurnWatch {
  /** A request is sent to an agent for the first time. */
  began(requestId: string, agent: string): void;
  /** An event was received. */
  heard(requestId: string): void;
  /** The end of the turn was received. */
  ended(requestId: string): void;
}

/**
 * Sends one request after the other and follows each to its end, across all deaths of the server: it retries
 * until it gets an answer, and resumes reading after its last event.
 */
export async function runClient(options: ClientOptions): Promise<void> {
  const { random, name, watch, agents = agentNames, cancels = true } = options;
  let run: string | undefined;
  for (let number = 1; await options.goesOn(); number += 1) {
    const agent = agents[random.below(agents.length)] ?? "speaker";
    const requestId = `${name}-${number}`;
    const turn = new ClientTurn(options, agent, requestId);
    watch?.began(requestId, agent);
    // The first stream of a turn can wait for what is sent to it.
    const sent = turn.accepted.then(() => turn.send(toMail(agent, requestId)));
    await turn.begin(toRequest(agent, requestId, { run, random }), { streamed: random.below(2) === 0 });
    const cancelAfter = random.below(8) === 0 ? 1 + random.below(12) : Infinity;
    await turn.follow({ cancelAfter: cancels ? cancelAfter : Infinity });
    await sent;
    watch?.ended(requestId);
    if (agent === "counter") run = turn.runId;
  }
}

/** The delay before a retry, in milliseconds. */
const RETRY_MS = 10;

/** One turn from the client's view. */
class ClientTurn {
  readonly #options: ClientOptions;
  readonly #agent: string;
  readonly #requestId: string;
  /** The waits that this client has not answered yet. */
  #waits: readonly WaitEvent[] = [];
  #newest: Event | undefined;
  readonly #accepted = Promise.withResolvers<void>();
  #events = 0;
  #heardMs = performance.now();

  constructor(options: ClientOptions, agent: string, requestId: string) {
    this.#options = options;
    this.#agent = agent;
    this.#requestId = requestId;
  }

  get runId(): string | undefined {
    return this.#newest?.run_id;
  }

  /** Resolves when the request is accepted. */
  get accepted(): Promise<void> {
    return this.#accepted.promise;
  }

  /**
   * Sends the request until it is accepted. With streaming, the first frame shows that, and it may never
   * come.
   */
  async begin(body: object, { streamed }: { readonly streamed: boolean }): Promise<void> {
    if (streamed && (await this.#stream(`/${this.#agent}/stream_request`, body))) return;
    await this.#post("process", body);
    this.#options.journal.note({ kind: "accepted", requestId: this.#requestId });
    this.#accepted.resolve();
  }

  /** Sends messages and operations to the run of the turn, one after the other. */
  async send(mail: readonly Mail[]): Promise<void> {
    const { journal } = this.#options;
    for (const body of mail) {
      const isTaken = await this.#post("process", body, { mayRefuse: body.type === "OperationRequest" });
      if (isTaken) journal.note({ kind: "sent", requestId: this.#requestId, messageId: body.request_id });
    }
  }

  /** Reads to the end of the turn, answers questions, and sometimes cancels it. */
  async follow({ cancelAfter }: { readonly cancelAfter: number }): Promise<void> {
    const { journal } = this.#options;
    const requestId = this.#requestId;
    let canceled = false;
    while (!isEnd(this.#newest)) {
      if (this.#events >= cancelAfter && !canceled) {
        await this.#post("process?wait=true", { type: "CancelRequest", request_id: requestId });
        journal.note({ kind: "canceled", requestId });
        canceled = true;
        this.#waits = [];
      }
      for (const wait of this.#waits) await this.#answer(wait);
      await this.#stream(`/getevents/${requestId}?stream=true&since=0`);
    }
  }

  async #answer({ id: waitId, request_keys }: WaitEvent): Promise<void> {
    const requestId = this.#requestId;
    const answered = await this.#post("process?wait=true", {
      type: "ResumeWithInput",
      request_id: requestId,
      wait_id: waitId,
      resume_id: `${requestId}-${waitId}`,
      request_keys: Object.fromEntries(Object.keys(request_keys).map((key) => [key, `${key}!`])),
    });
    if (answered) this.#options.journal.note({ kind: "resumed", requestId, waitId });
    this.#waits = this.#waits.filter(({ id }) => id !== waitId);
  }

  /** Sends a request until it is answered; false if it was refused permanently, which may be right. */
  async #post(
    path: string,
    body: object,
    { mayRefuse = false }: { readonly mayRefuse?: boolean } = {},
  ): Promise<boolean> {
    for (;;) {
      const patience = this.#wait();
      const response = await this.#fetch(`/${this.#agent}/${path}`, body, patience.signal);
      const answer = await response?.text().catch(() => undefined);
      patience.end();
      if (response === undefined || answer === undefined || response.status === 503) {
        await setTimeout(RETRY_MS);
      } else if (response.ok) {
        return true;
      } else if (mayRefuse && answer.includes('"not_accepted"')) {
        return false;
      } else {
        this.#complain(`${JSON.stringify(body)} was answered by ${response.status}: ${answer}`);
        return false;
      }
    }
  }

  /** Reads a stream as far as possible; false if it delivered nothing. */
  async #stream(path: string, body?: object): Promise<boolean> {
    const before = this.#events;
    const patience = this.#wait();
    const response = await this.#fetch(path, body, patience.signal);
    if (response === undefined || response.status === 503) {
      patience.end();
      await setTimeout(RETRY_MS);
      return false;
    }
    const { hops = false, random } = this.#options;
    const leavesAt = hops && random.below(4) === 0 ? this.#events + 1 + random.below(8) : Infinity;
    if (response.status !== 200 || response.body === null) {
      const last = this.#newest?.id ?? 0;
      this.#complain(`${path} behind ${last} was answered by ${response.status}: ${await response.text()}`);
      await setTimeout(RETRY_MS);
      return false;
    }
    try {
      let text = "";
      for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        const frames = text.split("\n\n");
        text = frames.pop() ?? "";
        for (const frame of frames) this.#hear(frame);
        patience.renew();
        if (this.#events >= leavesAt && !isEnd(this.#newest)) break;
      }
    } catch {
      // The server is gone. The next stream continues from here.
      await setTimeout(RETRY_MS);
    } finally {
      patience.end();
    }
    return this.#events > before;
  }

  #hear(frame: string): void {
    const data = frame.split("\n").find((line) => line.startsWith(DATA));
    if (data === undefined) return;
    const text = data.slice(DATA.length);
    this.#options.journal.note({ kind: "event", requestId: this.#requestId, id: idOf(text), text });
    if (requestIdOf(text) !== this.#requestId) this.#complain(`an event of another request came: ${text}`);
    const event = JSON.parse(text) as Event;
    this.#events += 1;
    this.#newest = event;
    this.#accepted.resolve();
    this.#options.watch?.heard(this.#requestId);
    this.#heardMs = performance.now();
    if (event.type === "WaitForInput") this.#waits = [...this.#waits, event];
    if (event.type === "ResumeWithInput") {
      this.#waits = this.#waits.filter(({ id }) => id !== event.wait_id);
    }
  }

  #wait(): Patience {
    const { patienceMs = Infinity } = this.#options;
    return new Patience(Math.max(patienceMs, (performance.now() - this.#heardMs) / 4));
  }

  #complain(what: string): void {
    this.#options.journal.note({ kind: "complaint", requestId: this.#requestId, what });
  }

  async #fetch(path: string, body: object | undefined, signal: AbortSignal): Promise<Response | undefined> {
    const address = await this.#options.address();
    const last = this.#newest?.id ?? 0;
    const init: RequestInit =
      body === undefined
        ? { headers: last === 0 ? {} : { "last-event-id": String(last) } }
        : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    return fetch(`${address}${path}`, { ...init, signal }).catch(() => {
      this.#options.unanswered?.(address);
      return undefined;
    });
  }
}

type WaitEvent = Event & { readonly type: "WaitForInput" };

const DATA = "data: ";

function isEnd(event: Event | undefined): boolean {
  return event?.type === "RequestCompleted" && event.depth === 0;
}
