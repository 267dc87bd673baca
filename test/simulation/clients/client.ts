import { AgentError } from "troupe";
import type { Address, EventPage, Receipt } from "troupe";
import type { Event, Request, RequestId, RunId } from "troupe/protocol";
import { depthOf, idOf, typeOf } from "../../../src/protocol/events/encode.ts";
import type { Connection, SimulationAccess } from "./connection.ts";

type Question = Event & { readonly type: "WaitForInput" };
type Answer = Event & { readonly type: "ResumeWithInput" };

/** A request from the client's view. */
export interface Invocation {
  readonly requestId: RequestId;
  readonly agent: string;
  readonly request: Request;
  runId?: RunId;
  /** Refused permanently: it must never run. */
  refused?: boolean;
  /** Whether an earlier copy got no answer and can still arrive, so that a refusal does not say that it never runs. */
  isUncertain?: boolean;
  canceled?: boolean;
  /** The client's current action for it. */
  doing: string;
  /** The open questions it knows, by event id. */
  readonly open: Map<number, Question>;
  cursor: number;
  ended?: boolean;
}

/** Sends requests and plays them to their end, across all deaths of processes. */
export class Client {
  readonly #around: SimulationAccess;
  readonly #connection: Connection;
  readonly asked: Invocation[] = [];

  constructor(around: SimulationAccess, connection: Connection) {
    this.#around = around;
    this.#connection = connection;
  }

  /** Sends a request, sometimes twice at once, until it is accepted or refused. */
  async ask(requestId: string, agent: string, request: Request): Promise<Invocation> {
    const { pick, observer } = this.#around;
    const asked: Invocation = {
      requestId,
      agent,
      request,
      doing: "asks",
      open: new Map(),
      cursor: 0,
    };
    this.asked.push(asked);
    const tries = pick.chance(20) ? 2 : 1;
    const receipts = await Promise.all(Array.from({ length: tries }, () => this.#askOnce(asked)));
    const taken = receipts.filter((receipt) => receipt !== undefined);
    const [first] = taken;
    if (first === undefined) {
      asked.refused = true;
      asked.doing = "was refused";
      return asked;
    }
    for (const receipt of taken) {
      if (receipt.requestId !== requestId || receipt.runId !== first.runId)
        observer.say(`${requestId} was taken as ${receipt.requestId} in ${String(receipt.runId)}`);
    }
    asked.runId = first.runId as RunId;
    asked.cursor = first.after;
    if (pick.chance(15)) await this.#stay(asked, first);
    return asked;
  }

  /** Follows a request and answers questions, to its end or until the client leaves. */
  async see(asked: Invocation): Promise<void> {
    const { pick, pause, observer } = this.#around;
    while (asked.ended !== true) {
      // A stream that starts after a question does not end at it: all questions are answered first.
      while (asked.open.size > 0) {
        if (!this.#around.patient && pick.chance(15)) {
          asked.doing = "leaves it open";
          return;
        }
        await this.#answer(asked);
      }
      asked.doing = "follows";
      try {
        if (pick.chance(10)) await this.#poll(asked);
        else await this.#follow(asked);
      } catch (error) {
        if (!this.#isRemoved(asked, error)) throw error;
      }
      const { removed, hidden } = observer.runs.get(asked.runId as string) ?? {};
      if (removed === true || hidden === true) break;
      // A stream can end because an answer is still being delivered, or because its process is gone.
      if (asked.open.size === 0) await pause(20 + pick.below(200));
    }
    asked.doing = "is done";
  }

  /** Whether an error occurred because the run was removed. */
  #isRemoved({ runId }: Invocation, error: unknown): boolean {
    const isGone = error instanceof AgentError && error.code === "gone";
    const { removed, hidden } = this.#around.observer.runs.get(String(runId)) ?? {};
    return isGone && (removed === true || hidden === true);
  }

  /** Cancels a request; the reply is its end. */
  async cancel(asked: Invocation): Promise<void> {
    const { observer } = this.#around;
    asked.canceled = true;
    const cancel = { type: "CancelRequest", request_id: asked.requestId } as const;
    const receipt = await this.#connection.unlessGone((runtime) => runtime.process(asked.agent, cancel));
    if (receipt === undefined) return;
    this.#received(receipt);
    if (!receipt.event?.includes('"type":"RequestCompleted"'))
      observer.say(`the cancel of ${asked.requestId} was answered with ${String(receipt.event)}`);
  }

  /** Repeats all its requests after the end. */
  async repeatAll(): Promise<void> {
    const { observer } = this.#around;
    for (const asked of this.asked) {
      if (asked.refused === true) continue;
      const receipt = await this.#askOnce(asked);
      if (observer.runs.get(String(asked.runId))?.removed === true) continue;
      if (receipt?.replayed !== true || receipt.runId !== asked.runId)
        observer.say(`${asked.requestId} was not recognised: ${JSON.stringify(receipt)}`);
    }
  }

  async #askOnce(asked: Invocation): Promise<Receipt | undefined> {
    const { agent, request } = asked;
    let copies = 0;
    try {
      const receipt = await this.#connection.insist((runtime) => {
        copies += 1;
        return runtime.process(agent, request);
      });
      this.#around.observer.clientAccepted(receipt.requestId, receipt.runId);
      this.#received(receipt);
      return receipt;
    } catch (error) {
      if (!(error instanceof AgentError) || !REFUSALS.has(error.code)) throw error;
      if (this.#around.isOvertaking(copies)) asked.isUncertain = true;
      return undefined;
    }
  }

  /** Waits until its request has started, ended or waits. */
  async #stay(asked: Invocation, receipt: Receipt): Promise<void> {
    const { pick, observer } = this.#around;
    const until = pick.of(["acknowledged", "completed"] as const);
    asked.doing = `stays until it is ${until}`;
    const options = { until, timeoutMs: pick.of([100, 50_000]) };
    const text = await this.#connection.unlessGone((runtime) => runtime.acknowledgement(receipt, options));
    if (text !== undefined) observer.clientReceived(asked.runId as string, text);
  }

  /** Gives one answer, sometimes twice at once. */
  async #answer(asked: Invocation): Promise<void> {
    const { pick, pause } = this.#around;
    asked.doing = "answers";
    if (pick.chance(30)) await pause(pick.below(5_000));
    const [waitId, { request_keys: questions }] = pick.of([...asked.open]);
    const [key = ""] = Object.keys(questions);
    const answer = {
      type: "ResumeWithInput",
      request_id: asked.requestId,
      wait_id: waitId,
      request_keys: { [key]: `answer ${waitId}` },
      resume_id: `resume-${waitId}`,
    } as const;
    const tries = pick.chance(20) ? 2 : 1;
    const give = (): Promise<void> => this.#answerOnce(asked, waitId, answer);
    await Promise.all(Array.from({ length: tries }, give));
    asked.open.delete(waitId);
  }

  async #answerOnce(asked: Invocation, waitId: number, answer: Request): Promise<void> {
    try {
      this.#received(await this.#connection.insist((runtime) => runtime.process(asked.agent, answer)));
    } catch (error) {
      if (!(error instanceof AgentError) || !REFUSALS.has(error.code)) throw error;
      if (!this.#isClosed(asked, waitId))
        this.#around.observer.say(
          `an answer to wait ${waitId} of ${asked.requestId} was refused: ${error.message}`,
        );
    }
  }

  /** Whether a wait was closed, its turn is over, or its time has passed, so that it is about to be closed. */
  #isClosed({ requestId, open }: Invocation, waitId: number): boolean {
    const { observer, latestClockMs } = this.#around;
    const { expires_at: expiresAt } = open.get(waitId) ?? {};
    const isLate = expiresAt !== undefined && Date.parse(expiresAt) <= latestClockMs();
    return isLate || !observer.openWaits(requestId).includes(waitId);
  }

  /** Reads one page. */
  async #poll(asked: Invocation): Promise<void> {
    const limit = 1 + this.#around.pick.below(4);
    const range = { after: asked.cursor, limit, filter: { level: "all" } } as const;
    this.#saw(asked, await this.#connection.insist((runtime) => runtime.read(addressOf(asked), range)));
  }

  /** Reads until the stream ends or the client disconnects. */
  async #follow(asked: Invocation): Promise<void> {
    const { connect, pick } = this.#around;
    const process = connect();
    const address = addressOf(asked);
    try {
      for await (const page of process.follow(address, { after: asked.cursor, filter: { level: "all" } })) {
        if (this.#saw(asked, page) || (asked.open.size > 0 && pick.chance(20))) return;
      }
    } catch (error) {
      if (!this.#isRemoved(asked, error) && !this.#connection.isPassing(error)) throw error;
    }
  }

  #saw(asked: Invocation, page: EventPage): boolean {
    this.#around.observer.read(asked.runId as string, asked.requestId, asked.cursor, page);
    asked.cursor = page.cursor;
    for (const text of page.events) {
      const type = typeOf(text);
      if (type === "WaitForInput") asked.open.set(idOf(text), JSON.parse(text) as Question);
      if (type === "ResumeWithInput" || type === "WaitExpired")
        asked.open.delete((JSON.parse(text) as Answer).wait_id);
      if (type === "RequestCompleted" && depthOf(text) === 0) asked.ended = true;
    }
    if (asked.ended === true) asked.open.clear();
    return asked.ended === true;
  }

  #received({ runId, event }: Receipt): void {
    if (event !== undefined) this.#around.observer.clientReceived(String(runId), event);
  }
}

function addressOf({ runId, requestId, agent }: Invocation): Address {
  return { kind: "request", runId: runId as RunId, requestId, agent };
}

/**
 * The expected refusals of a request: its run is busy or removed, a file of it was removed with its run, or a state
 * machine does not take it.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  "conflict",
  "overloaded",
  "gone",
  "unprocessable",
  "not_accepted",
]);
