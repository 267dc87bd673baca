import { forEachConcurrent } from "../../shared/map-concurrent.ts";
import type { Fields } from "../../protocol/json.ts";
import { check } from "./mismatch.ts";
import type { EventStream } from "./event-stream.ts";
import type { AgentRole } from "./roles.ts";
import { bodyOf, checkStatus } from "./http-client.ts";
import type { HttpAnswer, Query, HttpClient } from "./http-client.ts";
import { toEvent, toEvents } from "./wire-event.ts";
import type { WireEvent } from "./wire-event.ts";

/** The input of a ticker that counts to two, with ten minutes between the numbers. */
export const SLOW = "2 600000";

/** A turn that a case started. */
export interface StartedTurn {
  readonly role: AgentRole;
  readonly requestId: string;
  readonly runId: string;
  /** Its RequestStarted. */
  readonly started: WireEvent;
}

/** The client operations of a case, with timeouts and without checks of their own. */
export class Context {
  readonly http: HttpClient;
  readonly #host: ContextHost;
  readonly #endless: StartedTurn[] = [];

  constructor(http: HttpClient, host: ContextHost) {
    this.http = http;
    this.#host = host;
  }

  /** The path of the agent for a role. */
  path(role: AgentRole): string {
    return this.#host.path(role);
  }

  /** The number of repetitions: few, or the full number in a thorough run. */
  times(quick: number, full: number): number {
    return this.#host.thorough ? full : quick;
  }

  /** A new unique id. */
  newId(): string {
    return `req_${crypto.randomUUID()}`;
  }

  /** Kills the server and restarts it with the same data. Returns a context for the new one. */
  async restart(): Promise<Context> {
    return new Context(await this.#host.restart(), this.#host);
  }

  /** Sends a request to the agent for a role. */
  process(role: AgentRole, body: unknown, query: Query = {}): Promise<HttpAnswer> {
    return this.http.ask("POST", `${this.path(role)}/process`, { body, query });
  }

  /** Starts a turn with a text, or with the fields of a request, and waits for its RequestStarted. */
  async start(role: AgentRole, input: string | Fields, extra: Fields = {}): Promise<StartedTurn> {
    const said = typeof input === "string" ? { type: "ChatRequest", input } : input;
    const answer = await this.process(role, { ...said, ...extra }, { wait: true });
    return toTurn(role, toEvent(bodyOf(answer, 200), answer.asked));
  }

  /** Starts a turn that does not end by itself in time; it is canceled after the case. */
  async startEndless(role: AgentRole, input: string | Fields, extra: Fields = {}): Promise<StartedTurn> {
    const turn = await this.start(role, input, extra);
    this.#endless.push(turn);
    return turn;
  }

  /** Starts a ticker whose second number comes only after ten minutes; it is canceled after the case. */
  startSlow(): Promise<StartedTurn> {
    return this.startEndless("ticker", SLOW);
  }

  /** Sends a request that is queued behind a running one. */
  async enqueue(busy: StartedTurn, input: string): Promise<StartedTurn> {
    const body = { type: "ChatRequest", input, run_id: busy.runId };
    const { request_id: requestId } = bodyOf(await this.process(busy.role, body), 202);
    return { ...busy, requestId: String(requestId) };
  }

  /** Opens a stream of a turn's events. */
  stream(turn: StartedTurn, query: Query = {}, headers: Headers = {}): Promise<EventStream> {
    const path = `${this.path(turn.role)}/getevents/${turn.requestId}`;
    return this.http.stream(path, { query: { stream: true, ...query }, headers });
  }

  /** Reads a stream of a turn's events up to its end. */
  async read(turn: StartedTurn, query: Query = {}): Promise<WireEvent[]> {
    const stream = await this.stream(turn, query);
    return stream.rest();
  }

  /** Polls a turn's events once. */
  async poll(turn: StartedTurn, query: Query = {}): Promise<WireEvent[]> {
    const path = `${this.path(turn.role)}/getevents/${turn.requestId}`;
    return eventsOf(await this.http.ask("GET", path, { query }));
  }

  /** Reads the first page of a run's history, from its first event. */
  async history(turn: StartedTurn): Promise<WireEvent[]> {
    const path = `${this.path(turn.role)}/getevents/${turn.runId}`;
    return eventsOf(await this.http.ask("GET", path, { query: { since: 0 } }));
  }

  /** Reads the state of a request. */
  async status(turn: StartedTurn): Promise<Fields> {
    const path = `${this.path(turn.role)}/request/${turn.requestId}`;
    return bodyOf(await this.http.ask("GET", path), 200);
  }

  /** Answers a wait. */
  resume(turn: StartedTurn, keys: unknown, extra: Fields = {}, query: Query = {}): Promise<HttpAnswer> {
    const { role, requestId: request_id } = turn;
    const body = { type: "ResumeWithInput", request_id, request_keys: keys, ...extra };
    return this.process(role, body, query);
  }

  /** Cancels a request. */
  cancel(turn: StartedTurn, query: Query = {}): Promise<HttpAnswer> {
    return this.process(turn.role, { type: "CancelRequest", request_id: turn.requestId }, query);
  }

  /** Ends the turns that the case left running. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#endless.map((turn) => this.cancel(turn, { wait: true })));
  }
}

/** What the runner of the cases provides. */
export interface ContextHost {
  readonly thorough: boolean;
  path(role: AgentRole): string;
  restart(): Promise<HttpClient>;
}

/** The turn of a RequestStarted. */
export function toTurn(role: AgentRole, started: WireEvent | undefined): StartedTurn {
  check(started?.type === "RequestStarted", "a RequestStarted", started);
  const { request_id: requestId, run_id: runId } = started;
  check(typeof requestId === "string", "a request_id that is a string", started);
  check(typeof runId === "string", "a run_id that is a string", started);
  return { role, requestId, runId, started };
}

export function eventsOf(answer: HttpAnswer): WireEvent[] {
  checkStatus(answer, 200);
  return toEvents(answer.json, answer.asked);
}

/** Repeats something with limited concurrency and returns the results in order. */
export async function repeat<Result>(
  times: number,
  atOnce: number,
  act: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  await forEachConcurrent([...Array(times).keys()], atOnce, async (index) => {
    results[index] = await act(index);
  });
  return results;
}

type Headers = Readonly<Record<string, string>>;
